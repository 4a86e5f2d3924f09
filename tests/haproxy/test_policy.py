# SPDX-License-Identifier: Apache-2.0
"""The policy of the shipped configuration, which comes before the gate."""

import hashlib
import hmac
import json
import time
import unittest

from case import REFUSAL_HEADERS, StackCase
from client import Request, chat
from signed import Signer, base64url

BEARER = "Authorization"


class Policy(StackCase):
    def assert_before_the_gate(self, pool, answer, status, error):
        """Nobody counted it and no engine saw it."""
        self.assertEqual(status, answer.status)
        self.assertEqual(error, answer.json()["error"])
        for name in REFUSAL_HEADERS:
            self.assertIsNone(answer.header(name), name)
        self.assertEqual(self.decided, pool.get("decisions_total"))
        self.assertEqual(self.executing, pool.inflight())

    def note(self, pool):
        self.decided = pool.get("decisions_total")
        self.executing = pool.inflight()


class Keys(Policy):
    SERVICES = 4
    OPTIONS = {"keys": {"good": "acme", "lent": "-"}}

    def ask_with(self, pool, headers):
        return self.ask(pool, chat(headers=headers))

    def test_a_credential_that_is_refused_never_reaches_the_gate(self):
        """9: unknown and suspended keys, on a full pool."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        self.note(pool)
        for headers in ({"X-Api-Key": "bad"}, {BEARER: "Bearer bad"},
                        {"X-Api-Key": ""}):
            with self.subTest(headers):
                answer = self.ask_with(pool, headers)
                self.assert_before_the_gate(pool, answer, 401, "unauthorized")
                self.assertEqual("Bearer", answer.header("www-authenticate"))
        self.assert_before_the_gate(
            pool, self.ask_with(pool, {"X-Api-Key": "lent"}), 403,
            "forbidden")

    def test_a_good_key_is_gated(self):
        """9: in either header; and so is a request without one."""
        pool = self.pool(fc_max_outstanding=1)
        for headers in ({"X-Api-Key": "good"}, {BEARER: "Bearer good"}, {}):
            self.assertEqual(200, self.ask_with(pool, headers).status)
            pool.until(inflight=0)
        self.hold(pool, 1)
        for headers in ({"X-Api-Key": "good"}, {BEARER: "Bearer good"}, {}):
            self.assert_refused(self.ask_with(pool, headers), 429,
                                "admission_capacity")


class KeysRequired(Policy):
    SERVICES = 1
    OPTIONS = {"keys": {"good": "acme"},
               "haproxy_env": {"ADMISSION_KEYLESS": "refuse"}}

    def test_no_key_is_refused(self):
        """9: the line that demands one; it is for all paths."""
        pool = self.pool(fc_max_outstanding=1)
        self.note(pool)
        for request in (chat(), Request("GET", "/v1/models")):
            self.assert_before_the_gate(pool, self.ask(pool, request), 401,
                                        "unauthorized")
        answer = self.ask(pool, chat(headers={"X-Api-Key": "good"}))
        self.assertEqual(200, answer.status)


class Rate(Policy):
    SERVICES = 1
    OPTIONS = {"keys": {"a": "acme", "b": "beta"},
               "haproxy_env": {"ADMISSION_RATE": "5"}}

    def test_a_tenant_over_its_rate_is_refused_and_no_other(self):
        """9: five in ten seconds."""
        pool = self.pool()
        a, b = ({"X-Api-Key": key} for key in "ab")
        for _ in range(5):
            self.assertEqual(200, self.ask(pool, chat(headers=a)).status)
        pool.until(inflight=0)
        self.note(pool)
        answer = self.ask(pool, chat(headers=a))
        self.assert_before_the_gate(pool, answer, 429, "rate_limited")
        self.assertEqual("1", answer.header("retry-after"))
        self.assertEqual(200, self.ask(pool, chat(headers=b)).status)
        self.assertEqual(200, self.ask(pool).status)


class Jwt(Policy):
    SERVICES = 1

    @classmethod
    def setUpClass(cls):
        cls.signer = Signer(cls)
        cls.OPTIONS = {"haproxy_env": cls.signer.haproxy_env}
        super().setUpClass()

    def token(self, signed=None, alg="RS256", **claims):
        return self.signer.token(signed, alg, **claims)

    def test_only_a_token_that_is_signed_and_in_time_is_let_in(self):
        """9: not one by the public key as a secret, none that is unsigned,
        none that has run out."""
        pool = self.pool()
        self.note(pool)
        good = self.token()
        head, claims, signature = good.split(".")
        changed = base64url(json.dumps(
            {"tenant": "other", "exp": int(time.time()) + 60}).encode())
        bad = {
            "none": "",
            "not a token": "x",
            "changed": f"{head}.{changed}.{signature}",
            "unsigned": self.token(lambda text: b"", alg="none"),
            "by the public key": self.token(
                lambda text: hmac.digest(self.signer.public.read_bytes(),
                                         text.encode(), hashlib.sha256),
                alg="HS256"),
            "run out": self.token(exp=int(time.time()) - 1),
            "for ever": self.token(exp="never")}
        for what, token in bad.items():
            with self.subTest(what):
                headers = {BEARER: f"Bearer {token}"} if token else {}
                answer = self.ask(pool, chat(headers=headers))
                self.assert_before_the_gate(pool, answer, 401, "unauthorized")
        answer = self.ask(pool, chat(headers={BEARER: f"Bearer {good}"}))
        self.assertEqual(200, answer.status)



if __name__ == "__main__":
    unittest.main()
