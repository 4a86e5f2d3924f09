# SPDX-License-Identifier: Apache-2.0
"""Signed tokens, for tests of the part of the configuration that takes them."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """A key of its own, in a folder that is gone with the test class."""

    def __init__(self, case):
        folder = tempfile.TemporaryDirectory()
        case.addClassCleanup(folder.cleanup)
        self._key = pathlib.Path(folder.name) / "key.pem"
        self.public = pathlib.Path(folder.name) / "public.pem"
        self._openssl("genpkey", "-algorithm", "RSA", "-out", self._key)
        self._openssl("pkey", "-in", self._key, "-pubout", "-out", self.public)

    @property
    def haproxy_env(self):
        """What makes HAProxy ask for its tokens."""
        return {"ADMISSION_JWT_KEY": str(self.public)}

    @staticmethod
    def _openssl(*arguments, given=None):
        return subprocess.run(["openssl", *map(str, arguments)], check=True,
                              input=given, capture_output=True).stdout

    def _sign(self, text):
        return self._openssl("dgst", "-sha256", "-sign", self._key,
                             given=text.encode())

    def token(self, signed=None, alg="RS256", **claims):
        """Of tenant acme for a minute, unless the claims say otherwise;
        signed(text) signs in place of the key."""
        claims = {"tenant": "acme", "exp": int(time.time()) + 60, **claims}
        text = ".".join(base64url(json.dumps(part).encode())
                        for part in ({"alg": alg, "typ": "JWT"}, claims))
        return f"{text}.{base64url((signed or self._sign)(text))}"
