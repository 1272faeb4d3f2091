"""Places of endpoints in one worker: an endpoint that hangs fills its own, and who waits is handed on or given back."""

from __future__ import annotations

import uuid

from tasks.http.places import Places

FIRST, SECOND, THIRD = (uuid.UUID(int=n) for n in (1, 2, 3))


def test_a_full_endpoint_leaves_the_others_their_places():
    places = Places({"slow": 1, "fast": 1}.__getitem__)
    assert places.take("slow", FIRST)
    assert not places.take("slow", SECOND)
    assert places.take("fast", THIRD)


def test_a_free_place_goes_to_who_waits_longest_and_is_given_up_by_the_last():
    places = Places(lambda _name: 1)
    assert places.take("slow", FIRST)
    assert not places.take("slow", SECOND)
    assert not places.take("slow", THIRD)
    assert places.hand_on("slow") == SECOND
    assert places.hand_on("slow") == THIRD
    assert places.hand_on("slow") is None
    assert places.take("slow", FIRST)


def test_once_closed_nothing_begins_and_who_waited_is_known():
    places = Places(lambda _name: 1)
    assert places.take("slow", FIRST)
    assert not places.take("slow", SECOND)
    places.close()
    assert places.hand_on("slow") is None
    assert not places.take("slow", THIRD)
    assert places.left() == [SECOND, THIRD]
    assert places.left() == []
