# SPDX-License-Identifier: Apache-2.0
"""What the soak judges by must see a leak, a lost record and one too many, and must not see them where there are none."""
import collections
import math
import pathlib
import struct
import tempfile
import unittest

import judge


def grown(per_minute, noise=10.0, seconds=60):
    return [(second, 1000 + per_minute * second / 60 + noise * math.sin(7.0 * second)) for second in range(seconds)]


class Growth(unittest.TestCase):
    def test_a_leak_grows(self):
        self.assertEqual(judge.growth_verdict(judge.slope(grown(300)), limit=100), "grows")

    def test_noise_is_flat(self):
        self.assertEqual(judge.growth_verdict(judge.slope(grown(0)), limit=100), "flat")

    def test_the_interval_holds_the_slope(self):
        middle, half = judge.slope(grown(50))
        self.assertLess(abs(middle - 50), half)

    def test_much_noise_decides_nothing(self):
        self.assertEqual(judge.growth_verdict(judge.slope(grown(100, noise=4000)), limit=100), "not decided")

    def test_few_samples_say_nothing(self):
        self.assertEqual(judge.growth_verdict(judge.slope(grown(300, seconds=2 * judge.BLOCKS - 1)), 1), "too short to say")


class Accounts(unittest.TestCase):
    def faults(self, produced, stored, lost, killed=False):
        return judge.compare(*(collections.Counter(part) for part in (produced, stored, lost)), killed)

    def test_stored_and_counted_are_whole(self):
        self.assertEqual(self.faults({1: 100, 2: 20}, {1: 70, 2: 20}, {1: 30}), [])

    def test_one_lost_in_silence(self):
        self.assertEqual(self.faults({1: 100}, {1: 99}, {}), ["thread 1: 1 of 100 neither stored nor counted"])

    def test_one_too_many(self):
        self.assertEqual(self.faults({1: 100}, {1: 100}, {1: 1}), ["thread 1: 1 more stored and counted than produced"])

    def test_threads_do_not_make_up_for_each_other(self):
        self.assertEqual(len(self.faults({1: 100, 2: 100}, {1: 99, 2: 101}, {})), 2)

    def test_a_killed_thread_may_not_have_counted_its_last(self):
        self.assertEqual(self.faults({1: 100}, {1: 101}, {}, killed=True), [])
        self.assertNotEqual(self.faults({1: 100}, {1: 102}, {}, killed=True), [])
        self.assertNotEqual(self.faults({1: 100}, {1: 99}, {}, killed=True), [])

    def test_losses_of_no_thread_in_particular(self):
        self.assertEqual(self.faults({1: 100, 2: 50}, {1: 90, 2: 45}, {None: 15}), [])
        self.assertNotEqual(self.faults({1: 100, 2: 50}, {1: 90, 2: 45}, {None: 14}), [])
        self.assertNotEqual(self.faults({1: 100, 2: 50}, {1: 90, 2: 45}, {None: 16}), [])

    def test_an_account_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "account-7"
            path.write_bytes(struct.pack("<8Q", 1, 3, 50, 10, 51, 20, 50, 5))
            self.assertEqual(judge.read_account(path), (True, {50: 15, 51: 20}))

    def test_a_process_that_was_killed_at_once_has_an_empty_account(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "account-7"
            path.write_bytes(b"")
            self.assertEqual(judge.read_account(path), (None, {}))


if __name__ == "__main__":
    unittest.main()
