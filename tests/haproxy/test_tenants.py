# SPDX-License-Identifier: Apache-2.0
"""Tenants: how much of a pool each may hold, and what becomes of the rest."""

import unittest

from case import StackCase
from client import burst, chat, count
from signed import Signer

PLENTY = 20000  # ms; longer than any test waits


class Tenants(StackCase):
    """Tenants a, b and c, with a key each; a has another one."""

    SERVICES = 24
    OPTIONS = {"keys": {"a": "a", "a-too": "a", "b": "b", "c": "c"}}

    @staticmethod
    def of(key):
        """The header of a key; no key is one of its own."""
        return {"X-Api-Key": key} if key else {}

    def shared(self, percent, **arguments):
        """A pool of one engine, so that what it got is in order."""
        self.endpoint = [self.stack.engines[0].address]
        return self.pool(self.endpoint, fc_tenant_max_share_pct=percent,
                         **arguments)

    def change(self, pool, **arguments):
        self.replace(pool, endpoints=self.endpoint, **arguments)

    def hold_of(self, pool, key, number):
        """They execute, as a-h0, a-h1, …"""
        return self.hold(pool, number, f"{key}-h", headers=self.of(key))

    def queue_of(self, pool, key, number, hold=1):
        """They wait, as a-q0, a-q1, …, and later hold their units."""
        return self.queue(pool, number, f"{key}-q", headers=self.of(key),
                          hold=hold)

    def ask_of(self, pool, key, nonce=None):
        return self.ask(pool, chat(nonce=nonce, headers=self.of(key)))

    def order(self):
        return self.stack.engines[0].ask("order")

    def assert_over_share(self, answer):
        self.assert_refused(answer, 429, "admission_tenant_share")

    def assert_active(self, pool, number):
        """In the rule as it is read back and in the metrics."""
        self.assertEqual(
            [number, number], [pool.get("tenants_active"),
                               self.stack.effective(pool.port)
                               ["tenants_active"]])

    def hand_over(self, let_go, next_one):
        """The unit of the one goes to the other."""
        before = len(self.order())
        self.release(let_go)
        self.until_received(before + 1)
        self.assertEqual(next_one, self.order()[-1])

    def finish(self, conns):
        """Lets all go until each of these has its answer."""
        for conn in conns:
            self.stack.release_all()
            self.assertEqual(200, conn.receive().status)


class Share(Tenants):
    def test_each_tenant_has_its_share_of_ceiling_and_depth(self):
        """238, 239, 240, 241, 247, 248, 249: the table; rounded up, and at
        least one of each."""
        for ceiling, depth, percent, run, wait in (
                (8, 16, 25, 2, 4), (10, 0, 30, 3, 0), (3, 1, 10, 1, 1)):
            with self.subTest((ceiling, depth, percent)):
                self.stack.reset_engines()
                pool = self.shared(percent, fc_max_outstanding=ceiling,
                                   fc_max_queue_depth=depth,
                                   fc_max_queue_wait_ms=PLENTY)
                self.hold_of(pool, "a", run)
                self.queue_of(pool, "a", wait)
                self.assert_over_share(self.ask_of(pool, "a", "over"))
                self.assertEqual([run, wait], [pool.inflight(), pool.queued()])
                self.assertEqual([run, wait, 1], pool.decisions(
                    "admitted", "queued", "tenant_share"))
                self.assertEqual(0, self.received("over"))
                self.hold_of(pool, "b", run)
                self.assertEqual([2 * run, wait],
                                 [pool.inflight(), pool.queued()])

    def test_both_tenants_wait_within_their_shares(self):
        """238: four places each of sixteen."""
        pool = self.shared(25, fc_max_outstanding=8, fc_max_queue_depth=16,
                           fc_max_queue_wait_ms=PLENTY)
        for key in "ab":
            self.hold_of(pool, key, 2)
            self.queue_of(pool, key, 4)
            self.assert_over_share(self.ask_of(pool, key))
        self.assertEqual([4, 8, 2], pool.decisions("admitted", "queued",
                                                   "tenant_share"))

    def test_a_burst_is_split_by_tenants(self):
        """238: many at once are no other than one by one."""
        pool = self.shared(25, fc_max_outstanding=8, fc_max_queue_depth=16,
                           fc_max_queue_wait_ms=800)
        ended = []

        def on_end(outcome):
            ended.append(outcome)
            if count(ended)[504] == 12:
                self.stack.release_all()

        outcomes = burst(pool.port, [chat(hold=1, headers=self.of(key))
                                     for key in "abc" for _ in range(10)],
                         ended=on_end)
        for key in "abc":
            self.assertEqual({200: 2, 504: 4, 429: 4}, count(
                outcome for outcome in outcomes
                if outcome.request.headers["X-Api-Key"] == key))

    def test_a_refusal_says_the_counts_of_the_pool(self):
        """261, 265, 248: not those of the tenant; and a second to stay away
        where nobody waits."""
        pool = self.shared(25, fc_max_outstanding=8)
        self.hold_of(pool, "b", 1)
        self.hold_of(pool, "a", 2)
        answer = self.ask_of(pool, "a")
        self.assert_over_share(answer)
        self.assert_counts(answer, 3, 0, 8)
        self.assertEqual("1", answer.header("retry-after"))
        self.assertIn("jitter_hint_ms", answer.json())
        self.assertFalse(answer.closes())

    def test_a_refusal_of_the_queue_says_the_counts_of_the_pool(self):
        """261, 249: it is no full queue."""
        pool = self.shared(50, fc_max_outstanding=4, fc_max_queue_depth=4,
                           fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "b", 1)
        self.hold_of(pool, "a", 2)
        self.queue_of(pool, "a", 2)
        answer = self.ask_of(pool, "a")
        self.assert_over_share(answer)
        self.assert_counts(answer, 3, 2, 4)
        self.assertEqual([1, 0, 0], pool.decisions(
            "tenant_share", "queue_full", "capacity_shed"))

    def test_the_connection_is_kept_like_that_of_any_429(self):
        """248: but not where the body was still coming in."""
        pool = self.shared(50, fc_max_outstanding=2)
        self.hold_of(pool, "a", 1)
        conn = self.connect(pool)
        for _ in range(2):
            self.assert_over_share(
                conn.request(chat(headers=self.of("a"))))
        answer = conn.request(chat(headers=self.of("a"), chunk=16))
        self.assert_over_share(answer)
        self.assertTrue(answer.closes())

    def test_the_share_binds_on_an_idle_service(self):
        """254: half of four, and nobody else is there."""
        pool = self.shared(50, fc_max_outstanding=4)
        self.hold_of(pool, "a", 2)
        self.assert_over_share(self.ask_of(pool, "a"))
        self.assertEqual(2, pool.inflight())

    def test_streams_never_wait_for_their_share(self):
        """248, 177: though there is room in the queue."""
        pool = self.shared(50, fc_max_outstanding=2, fc_max_queue_depth=8,
                           fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 1)
        conn = self.connect_h2(pool)
        self.assert_over_share(conn.request(chat(headers=self.of("a"))))
        self.assertEqual([0, 1], pool.decisions("queued", "tenant_share"))
        self.assertEqual(
            200, conn.request(chat(headers=self.of("b"))).status)

    def test_a_full_service_comes_before_no_share(self):
        """262: a third tenant is under its share, and there is no unit."""
        pool = self.shared(50, fc_max_outstanding=4)
        self.hold_of(pool, "a", 2)
        self.hold_of(pool, "b", 2)
        self.assert_refused(self.ask_of(pool, "c"), 429, "admission_capacity")
        self.assertEqual([1, 0], pool.decisions("capacity_shed",
                                                "tenant_share"))

    def test_without_a_ceiling_there_is_no_share(self):
        """255: of what would it be one?"""
        pool = self.shared(25, fc_max_queue_depth=4,
                           fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 9)
        self.assertEqual([9, 0], pool.decisions("admitted", "tenant_share"))
        self.assert_active(pool, 0)

    def test_all_of_it_is_no_share(self):
        """242, 260: one tenant fills ceiling and queue, and nobody is
        counted; the rule still says 100."""
        pool = self.shared(100, fc_max_outstanding=4, fc_max_queue_depth=2,
                           fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 4)
        self.queue_of(pool, "a", 2)
        self.assert_refused(self.ask_of(pool, "a"), 429, "admission_capacity")
        self.assertEqual([0, 1], pool.decisions("tenant_share", "queue_full"))
        self.assert_active(pool, 0)
        now = self.stack.effective(pool.port)
        self.assertEqual([100, "rule"], [now["tenant_max_share_pct"],
                                         now["source"]["tenant_max_share_pct"]])

    def test_who_holds_or_waits_is_active(self):
        """259, 260, 263: two, three with one who only waits, and none."""
        pool = self.shared(50, fc_max_outstanding=4, fc_max_queue_depth=4,
                           fc_max_queue_wait_ms=PLENTY)
        now = self.stack.effective(pool.port)
        self.assertEqual([50, "rule"], [now["tenant_max_share_pct"],
                                         now["source"]["tenant_max_share_pct"]])
        self.assert_active(pool, 0)
        held = self.hold_of(pool, "a", 2)
        self.assert_active(pool, 1)
        held += self.hold_of(pool, "b", 2)
        self.assert_active(pool, 2)
        held += self.queue_of(pool, "c", 1)
        self.assert_active(pool, 3)
        self.finish(held)
        pool.until(inflight=0, queued=0)
        self.assert_active(pool, 0)

    def test_observe_refuses_nobody_and_counts(self):
        """44, 40: would shed, though there is a depth."""
        pool = self.shared(50, fc_mode="observe", fc_max_outstanding=4,
                           fc_max_queue_depth=8, fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 3)
        self.assertEqual([3, 1, 0, 0, 0], pool.decisions(
            "admitted", "observe_would_shed", "observe_would_queue",
            "tenant_share", "queued"))


class Identity(Tenants):
    def test_the_keys_of_a_tenant_share_its_budget(self):
        """245."""
        pool = self.shared(50, fc_max_outstanding=4)
        self.hold_of(pool, "a", 1)
        self.hold_of(pool, "a-too", 1)
        for key in ("a", "a-too"):
            self.assert_over_share(self.ask_of(pool, key))
        self.assert_active(pool, 1)
        self.assertEqual(200, self.ask_of(pool, "b").status)

    def test_all_without_a_key_are_one_tenant(self):
        """246: of its own."""
        pool = self.shared(50, fc_max_outstanding=4)
        self.hold_of(pool, None, 2)
        self.assert_over_share(self.ask_of(pool, None))
        self.hold_of(pool, "a", 2)
        self.assert_active(pool, 2)


class Tokens(StackCase):
    SERVICES = 1

    @classmethod
    def setUpClass(cls):
        cls.signer = Signer(cls)
        cls.OPTIONS = {"haproxy_env": cls.signer.haproxy_env}
        super().setUpClass()

    def bearer(self, **claims):
        return {"Authorization": f"Bearer {self.signer.token(**claims)}"}

    def test_the_tenant_of_a_token_is_its_tenant(self):
        """245: whatever else the token says; without one it is nobody's."""
        pool = self.pool(fc_max_outstanding=4, fc_tenant_max_share_pct=50)
        for i, user in enumerate("xy"):
            self.hold(pool, 1, user,
                      headers=self.bearer(tenant="acme", sub=user))
        answer = self.ask(pool, chat(headers=self.bearer(tenant="acme")))
        self.assert_refused(answer, 429, "admission_tenant_share")
        self.hold(pool, 1, "other", headers=self.bearer(tenant="other"))
        self.hold(pool, 1, "none", headers=self.bearer(tenant=None))
        self.assertEqual(3, pool.get("tenants_active"))


class Order(Tenants):
    """Half of four each, so that two of a execute when its others wait."""

    def half(self, **arguments):
        return self.shared(50, fc_max_outstanding=4, fc_max_queue_depth=16,
                           fc_max_queue_wait_ms=PLENTY, **arguments)

    def test_who_is_over_its_share_holds_nobody_up(self):
        """250, 251: b passes the waiters of a at the gate and never waits."""
        pool = self.half()
        self.hold_of(pool, "a", 2)
        self.queue_of(pool, "a", 2)
        self.hold_of(pool, "b", 2)
        self.assertEqual([4, 2], [pool.inflight(), pool.queued()])
        self.assertEqual(2, pool.decisions("queued"))

    def test_a_unit_goes_to_the_oldest_under_its_share(self):
        """252, 253, 264: b's and c's, though a's have waited longer; and
        those skipped come in their order when a has a unit back."""
        pool = self.half()
        conns = self.hold_of(pool, "a", 2)
        conns += self.queue_of(pool, "a", 2)
        conns += self.hold_of(pool, "b", 2)
        conns += self.queue_of(pool, "c", 1)
        conns += self.queue_of(pool, "b", 1)
        for let_go, next_one in (("b-h0", "c-q0"), ("b-h1", "b-q0"),
                                 ("a-h0", "a-q0"), ("a-h1", "a-q1")):
            self.hand_over(let_go, next_one)
        self.assertEqual([4, 0], [pool.inflight(), pool.queued()])
        self.finish(conns)

    def test_a_unit_that_no_waiter_may_take_stays_free(self):
        """252, 254: a waits, b is gone."""
        pool = self.half()
        self.hold_of(pool, "a", 2)
        self.queue_of(pool, "a", 1)
        b, = self.hold_of(pool, "b", 1)
        self.release("b-h0")
        self.assertEqual(200, b.receive().status)
        pool.until(inflight=2, queued=1)
        self.assertEqual(200, self.ask_of(pool, "b").status)


    def test_within_a_share_the_first_to_come_is_the_first(self):
        """264: of one tenant, past the other's who wait between them."""
        pool = self.half()
        self.hold_of(pool, "a", 2)
        self.hold_of(pool, "b", 2)
        for i in range(3):
            for key in "ab":
                self.queue(pool, 1, f"{key}-{i}-", headers=self.of(key),
                           hold=1)
        for key in "ab":
            self.hand_over(f"{key}-h0", f"{key}-0-0")
            self.hand_over(f"{key}-0-0", f"{key}-1-0")
            self.hand_over(f"{key}-1-0", f"{key}-2-0")

    def test_without_a_share_tenants_are_in_no_order_but_their_arrival(self):
        """264: strictly."""
        pool = self.pool([self.stack.engines[0].address],
                         fc_max_outstanding=1, fc_max_queue_depth=16,
                         fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 1)
        came = [f"{key}-{i}-" for i in range(2) for key in ("a", "b", None)]
        waiters = [self.queue(pool, 1, nonce, headers=self.of(
            {"a": "a", "b": "b"}.get(nonce[0])))[0] for nonce in came]
        self.release("a-h0")
        self.finish(waiters)
        self.assertEqual(["a-h0", *(nonce + "0" for nonce in came)],
                         self.order())


class Live(Tenants):
    def quarter(self, **arguments):
        """One of a executes, and three of it wait."""
        pool = self.shared(25, fc_max_outstanding=4, fc_max_queue_depth=16,
                           fc_max_queue_wait_ms=PLENTY, **arguments)
        self.conns = self.hold_of(pool, "a", 1)
        self.conns += self.queue_of(pool, "a", 3)
        return pool

    def test_a_raised_share_wakes_whom_it_frees(self):
        """252, and 98 of a share: two of three, at once, the oldest."""
        pool = self.quarter()
        self.change(pool, fc_tenant_max_share_pct=75)
        self.assertEqual([3, 1], [pool.inflight(), pool.queued()])
        self.until_received(3)
        self.assertEqual({"a-h0", "a-q0", "a-q1"}, set(self.order()))
        self.finish(self.conns)

    def test_a_share_that_ends_wakes_all(self):
        """242, 243: by 100, and by a 0 that nobody else declares."""
        for percent in (100, 0):
            with self.subTest(percent):
                self.stack.reset_engines()
                pool = self.quarter()
                self.change(pool, fc_tenant_max_share_pct=percent)
                self.assertEqual([4, 0], [pool.inflight(), pool.queued()])
                self.until_received(4)
                self.assert_active(pool, 0)
                self.finish(self.conns)

    def test_a_share_that_begins_counts_who_executes(self):
        """259, 247: three of a; the next one waits, and one of b does not."""
        pool = self.pool([self.stack.engines[0].address],
                         fc_max_outstanding=4, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=PLENTY)
        self.endpoint = [self.stack.engines[0].address]
        conns = self.hold_of(pool, "a", 3)
        self.change(pool, fc_tenant_max_share_pct=50)
        self.assert_active(pool, 1)
        conns += self.queue_of(pool, "a", 1)
        self.hold_of(pool, "b", 1)
        self.release("a-h0")
        pool.until(inflight=3, queued=1)
        self.hand_over("a-h1", "a-q0")
        self.finish(conns)

    def test_a_lowered_share_spares_those_who_execute(self):
        """241: newcomers wait until the tenant is under it."""
        pool = self.shared(100, fc_max_outstanding=4)
        held = self.hold_of(pool, "a", 3)
        self.change(pool, fc_tenant_max_share_pct=25)
        self.assertEqual(3, pool.inflight())
        for i in range(3):
            self.assert_over_share(self.ask_of(pool, "a"))
            self.release(f"a-h{i}")
            self.assertEqual(200, held[i].receive().status)
            pool.until(inflight=2 - i)
        self.assertEqual(200, self.ask_of(pool, "a").status)

    def test_a_share_follows_its_ceiling(self):
        """238, 98: a quarter of eight is two."""
        pool = self.quarter()
        self.change(pool, fc_max_outstanding=8)
        self.assertEqual([2, 2], [pool.inflight(), pool.queued()])
        self.until_received(2)
        self.finish(self.conns)

    def test_a_waiter_that_leaves_gives_its_place_back(self):
        """247, 249: to its own tenant."""
        pool = self.shared(25, fc_max_outstanding=4, fc_max_queue_depth=8,
                           fc_max_queue_wait_ms=PLENTY)
        self.hold_of(pool, "a", 1)
        leaver, _ = self.queue_of(pool, "a", 2)
        self.assert_over_share(self.ask_of(pool, "a"))
        leaver.reset()
        pool.until(queued=1)
        self.queue(pool, 1, "next", headers=self.of("a"))


class Borrowing(Tenants):
    """A quarter of four each, which may be passed."""

    def lent(self, **arguments):
        return self.shared(25, **{
            "fc_tenant_borrow": "on", "fc_max_outstanding": 4,
            "fc_max_queue_depth": 16, "fc_max_queue_wait_ms": PLENTY,
            **arguments})

    def test_one_tenant_may_fill_an_idle_service(self):
        """254 with borrowing: it is lent all, and its next one waits; the
        rule says so."""
        pool = self.lent()
        self.hold_of(pool, "a", 4)
        self.queue_of(pool, "a", 1)
        now = self.stack.effective(pool.port)
        self.assertEqual(["on", "rule"], [now["tenant_borrow"],
                                          now["source"]["tenant_borrow"]])
        self.assert_active(pool, 1)

    def test_who_is_under_its_share_takes_the_next_unit(self):
        """252 with borrowing: b comes last and runs first; and what nobody
        under a share could use is lent again."""
        pool = self.lent()
        conns = self.hold_of(pool, "a", 4)
        conns += self.queue_of(pool, "a", 2)
        conns += self.queue_of(pool, "b", 1)
        self.hand_over("a-h0", "b-q0")
        self.hand_over("b-q0", "a-q0")
        self.hand_over("a-h1", "a-q1")
        self.assertEqual([4, 0], [pool.inflight(), pool.queued()])
        self.finish(conns)

    def test_who_has_borrowed_least_borrows_next(self):
        """b holds its share and a three times that: b's waiter is the younger
        and runs first."""
        pool = self.lent()
        conns = self.hold_of(pool, "a", 3)
        conns += self.hold_of(pool, "b", 1)
        conns += self.queue_of(pool, "a", 1)
        conns += self.queue_of(pool, "b", 2)
        self.hand_over("a-h0", "b-q0")
        # Two each now, and a's has waited longest.
        self.hand_over("a-h1", "a-q0")
        self.finish(conns)

    def test_a_share_of_the_queue_is_not_lent(self):
        """249 with borrowing."""
        pool = self.lent(fc_max_queue_depth=8)
        self.hold_of(pool, "a", 4)
        self.queue_of(pool, "a", 2)
        self.assert_over_share(self.ask_of(pool, "a"))
        self.assertEqual(1, pool.decisions("tenant_share"))

    def test_without_a_queue_borrowers_are_refused_when_all_is_lent(self):
        """248, 262 with borrowing: a for its share, b for the ceiling."""
        pool = self.lent(fc_max_queue_depth=0, fc_max_queue_wait_ms=0)
        self.hold_of(pool, "a", 4)
        self.assert_over_share(self.ask_of(pool, "a"))
        self.assert_refused(self.ask_of(pool, "b"), 429, "admission_capacity")

    def test_streams_may_borrow_too(self):
        """248 with borrowing: but never wait."""
        pool = self.lent()
        conn = self.connect_h2(pool)
        self.hold_of(pool, "a", 3)
        held = conn.send(chat(nonce="s", hold=1, headers=self.of("a")))
        pool.until(inflight=4)
        self.assert_over_share(conn.request(chat(headers=self.of("a"))))
        self.until_received(4)
        self.release("s")
        self.assertEqual(200, conn.receive(held).status)

    def test_it_is_allowed_and_forbidden_live(self):
        """98 of borrowing: allowed, who waits runs at once; forbidden, what is
        lent stays so to its end."""
        pool = self.lent(fc_tenant_borrow="off")
        conns = self.hold_of(pool, "a", 1)
        conns += self.queue_of(pool, "a", 2)
        self.change(pool, fc_tenant_borrow="on")
        self.assertEqual([3, 0], [pool.inflight(), pool.queued()])
        self.until_received(3)
        self.change(pool, fc_tenant_borrow="off")
        self.assertEqual(3, pool.inflight())
        conns += self.queue(pool, 1, "late", headers=self.of("a"))
        for i, nonce in enumerate(("a-h0", "a-q0"), 1):
            self.release(nonce)
            pool.until(inflight=3 - i, queued=1)
        self.hand_over("a-q1", "late0")
        self.finish(conns)

    def test_observe_counts_only_what_could_not_be_lent(self):
        """44 with borrowing."""
        pool = self.lent(fc_mode="observe", fc_max_queue_depth=0,
                         fc_max_queue_wait_ms=0)
        self.hold_of(pool, "a", 4)
        self.assertEqual([4, 0], pool.decisions("admitted",
                                                "observe_would_shed"))


class Environment(Tenants):
    SERVICES = 4
    OPTIONS = {**Tenants.OPTIONS, "agent_env": {
        "LLB_FC_TENANT_MAX_SHARE_PCT": "50", "LLB_FC_TENANT_BORROW": "on"}}

    def test_a_rule_that_declares_none_has_the_share_of_the_process(self):
        """243, 263: so it is for one with 0; not for one of its own."""
        for declared, share, source in (({}, 50, "env"),
                                        ({"fc_tenant_max_share_pct": 0}, 50,
                                         "env"),
                                        ({"fc_tenant_max_share_pct": 25}, 25,
                                         "rule")):
            with self.subTest(declared):
                pool = self.pool(fc_max_outstanding=4, fc_tenant_borrow="off",
                                 **declared)
                now = self.stack.effective(pool.port)
                self.assertEqual([share, source],
                                 [now["tenant_max_share_pct"],
                                  now["source"]["tenant_max_share_pct"]])
                self.hold_of(pool, "a", 4 * share // 100)
                self.assert_over_share(self.ask_of(pool, "a"))

    def test_a_rule_that_declares_nothing_borrows_with_the_process(self):
        """243 of borrowing."""
        pool = self.pool(fc_max_outstanding=4)
        self.assertEqual(
            "env", self.stack.effective(pool.port)["source"]["tenant_borrow"])
        self.hold_of(pool, "a", 4)


TABLE = 64


class Table(Tenants):
    """More tenants at once than a pool keeps apart."""

    SERVICES = 2
    OPTIONS = {"keys": {f"k{i}": f"t{i}" for i in range(2 * TABLE + 3)},
               "haproxy_env": {"ADMISSION_ENGINE_MAXCONN": "500"}}

    def table_full(self):
        return self.stack.metrics().get("loxilb_ai_admission_anomalies_total",
                                        kind="tenant_table_full")

    def anomalies(self):
        return super().anomalies() - self.table_full()

    def hold_each(self, pool, first, number):
        return [self.hold_of(pool, f"k{i}", 1)[0]
                for i in range(first, first + number)]

    def test_beyond_the_table_all_share_one_budget(self):
        """256, 257, 258, 259: ten units each; each that is placed there is
        counted, refused ones too; and once the slots are free, all have one
        of their own again."""
        pool = self.pool(fc_max_outstanding=1000, fc_tenant_max_share_pct=1)
        conns = self.hold_each(pool, 0, TABLE)
        self.assertEqual(0, self.table_full())
        self.assert_active(pool, TABLE)
        conns += self.hold_each(pool, TABLE, 3)
        self.assertEqual(3, self.table_full())
        self.assert_active(pool, TABLE + 1)

        conns += self.hold_of(pool, f"k{TABLE}", 7)
        for key in (f"k{TABLE}", f"k{TABLE + 2}", f"k{TABLE + 3}"):
            self.assert_over_share(self.ask_of(pool, key))
        self.assertEqual(13, self.table_full())
        conns += self.hold_of(pool, "k0", 9)
        self.assert_over_share(self.ask_of(pool, "k0"))
        self.assertEqual(13, self.table_full())

        self.finish(conns)
        pool.until(inflight=0)
        self.assert_active(pool, 0)
        self.hold_each(pool, TABLE + 3, TABLE)
        self.assert_active(pool, TABLE)
        self.assertEqual(13, self.table_full())

    def test_a_slot_is_free_as_soon_as_its_tenant_has_nothing(self):
        """258: one of 64 goes, and the next newcomer has it."""
        pool = self.pool(fc_max_outstanding=1000, fc_tenant_max_share_pct=1)
        before = self.table_full()
        conns = self.hold_each(pool, 0, TABLE)
        self.release("k0-h0")
        self.assertEqual(200, conns[0].receive().status)
        pool.until(inflight=TABLE - 1)
        self.hold_each(pool, TABLE, 1)
        self.assertEqual(before, self.table_full())
        self.assert_active(pool, TABLE)


if __name__ == "__main__":
    unittest.main()
