"""Placement keeps its goals for any cluster."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from riverlog.cluster.placement import place

clusters = st.dictionaries(
    st.integers(0, 40), st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=12
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[int, str | None], int, int, int]:
    racks = draw(clusters)
    return racks, draw(st.integers(1, 60)), draw(st.integers(1, len(racks))), draw(st.integers(0, 1 << 16))


@given(requests())
def test_no_partition_is_twice_on_a_broker_and_each_is_in_as_many_racks_as_possible(
    request: tuple[dict[int, str | None], int, int, int],
) -> None:
    racks, partitions, replication_factor, start = request

    placed = place(racks, partitions=partitions, replication_factor=replication_factor, start=start)

    rack_of = {broker: rack if rack is not None else f"own rack {broker}" for broker, rack in racks.items()}
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == replication_factor
        assert set(replicas) <= racks.keys()
        racks_used = {rack_of[broker] for broker in replicas}
        assert len(racks_used) == min(replication_factor, len(set(rack_of.values())))


@given(requests())
def test_leaders_are_spread_evenly(request: tuple[dict[int, str | None], int, int, int]) -> None:
    racks, partitions, replication_factor, start = request

    placed = place(racks, partitions=partitions, replication_factor=replication_factor, start=start)

    led = Counter(dict.fromkeys(racks, 0))
    led.update(replicas[0] for replicas in placed)
    assert max(led.values()) - min(led.values()) <= 1


@given(st.integers(1, 12), st.data())
def test_without_racks_replicas_are_spread_evenly(brokers: int, data: st.DataObject) -> None:
    partitions = data.draw(st.integers(1, 60))
    replication_factor = data.draw(st.integers(1, brokers))

    placed = place(
        dict.fromkeys(range(brokers)),
        partitions=partitions,
        replication_factor=replication_factor,
        start=data.draw(st.integers(0, 1 << 16)),
    )

    held = Counter(dict.fromkeys(range(brokers), 0))
    held.update(broker for replicas in placed for broker in replicas)
    assert max(held.values()) - min(held.values()) <= 1
