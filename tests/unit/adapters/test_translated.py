"""Errors of ports name the region, the object, the cause and what to do next."""

from __future__ import annotations

import pytest

from memolith.adapters.layered.faulty import Fault, Faulty, ScriptedFaults, Strike
from memolith.adapters.layered.intercepted import (
    Call,
    InterceptedErasableObjects,
    InterceptedObjects,
    InterceptedQueue,
)
from memolith.adapters.layered.translated import translate, translated_erasable, translated_queue
from memolith.adapters.memory.objects import MemoryBuckets, MemoryErasableObjects, MemoryObjects
from memolith.adapters.memory.queue import MemoryQueue
from memolith.core import errors
from memolith.ports import errors as port_errors

KEY = "us-east-1/log/memstore_x/0001"


def struck_objects(fault: Fault, name: str) -> InterceptedObjects:
    """Return buckets whose first call of `name` fails with `fault`, behind the translation."""
    buckets = MemoryBuckets(("us-east-1", "eu-west-1"))
    faulty = Faulty(ScriptedFaults(Strike(fault, name)))
    inner = InterceptedObjects(MemoryObjects(buckets, "us-east-1"), "us-east-1", faulty)
    return InterceptedObjects(inner, "us-east-1", translate)


def test_a_bucket_that_does_not_answer_is_named_with_region_object_and_cause() -> None:
    with pytest.raises(errors.Unavailable) as raised:
        struck_objects(Fault.REFUSED, "objects.head").head(KEY, "eu-west-1")
    assert (raised.value.region, raised.value.object) == ("eu-west-1", KEY)
    assert "refused" in raised.value.cause
    assert raised.value.message.startswith("the bucket did not answer (region=eu-west-1, object=us-east-1/log/")
    assert raised.value.message.endswith("; try again")


def test_a_lost_reply_to_a_put_says_to_read_first() -> None:
    with pytest.raises(errors.OutcomeUnknown) as raised:
        struck_objects(Fault.LOST_REPLY, "objects.put_if_absent").put_if_absent(KEY, b"x", {})
    assert raised.value.object == KEY
    assert raised.value.message.endswith("; read before trying again")


def test_errors_that_a_use_case_handles_pass_unchanged() -> None:
    for error in (port_errors.ObjectNotFound("a"), port_errors.ObjectExists("b"), port_errors.Contended("c")):

        def act(error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error)) as raised:
            translate(Call("objects.head", "us-east-1", "us-east-1", (KEY,)), act)
        assert raised.value is error


def test_what_a_port_raises_is_what_the_caller_sees_under_one_class() -> None:
    assert port_errors.Unavailable is errors.Unavailable
    assert port_errors.OutcomeUnknown is errors.OutcomeUnknown
    for kept in port_errors.PortError.__subclasses__():
        assert not issubclass(kept, errors.MemolithError)


def test_an_error_names_at_most_three_objects() -> None:
    def act() -> None:
        raise port_errors.Unavailable("ThrottlingException")

    with pytest.raises(errors.Unavailable) as raised:
        translate(Call("index.read", "us-east-1", "us-east-1", ("memories", "memories", "a", "b", "c")), act)
    assert raised.value.object == "memories,a,b"


def test_an_error_of_a_queue_names_no_message() -> None:
    struck = InterceptedQueue(MemoryQueue(), "us-east-1", Faulty(ScriptedFaults(Strike(Fault.REFUSED, "queue.send"))))
    with pytest.raises(errors.Unavailable) as raised:
        translated_queue(struck, "us-east-1").send(["a message"])
    assert raised.value.message.startswith("the queue did not answer (region=us-east-1, cause=")
    assert "a message" not in raised.value.message


def test_an_error_of_the_erasers_bucket_names_the_object() -> None:
    faulty = Faulty(ScriptedFaults(Strike(Fault.REFUSED, "erasable.erase")))
    buckets = MemoryBuckets(("us-east-1",))
    struck = InterceptedErasableObjects(MemoryErasableObjects(buckets, "us-east-1"), "us-east-1", faulty)
    with pytest.raises(errors.Unavailable) as raised:
        translated_erasable(struck, "us-east-1").erase(KEY, b"", {})
    assert raised.value.object == KEY
