"""Apps that run, stop, fail, are refused, and are brought to a new version, on a broker and on Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from riverlog.client import ConsumedRecord, Producer
from riverlog.pipelines import App, follow
from riverlog.pipelines.jobs.app import AppRefused
from riverlog.pipelines.jobs.app_run import QueryFailed
from riverlog.pipelines.jobs.comparison import Level
from riverlog.pipelines.jobs.differences import differences
from riverlog.pipelines.jobs.following import UnknownOutput
from riverlog.pipelines.jobs.replaying import replay
from riverlog.pipelines.jobs.state_directory import QueryIsRunning
from riverlog.pipelines.jobs.stopping import stop
from riverlog.pipelines.jobs.switching import Switch, retire, switch
from riverlog.testing import BrokerProcess
from riverlog.testing.plugin import topic_name
from tests.pipelines.shop import SECONDS_MAX, Shop, open_shop, values, windows


@pytest.fixture
def shop(
    riverlog_spark: SparkSession,
    riverlog_broker: BrokerProcess,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Shop]:
    name = topic_name(request.node.name, 0)
    with open_shop(riverlog_spark, riverlog_broker.bootstrap, tmp_path, name) as opened:
        yield opened


def mean(cents: list[int]) -> float:
    return sum(cents) / len(cents)


def switched(shop: Shop, app: App, to: int, *, dry_run: bool = False) -> Switch:
    with shop.sparks() as spark:
        return switch(
            spark,
            app,
            app.names()[0],
            to,
            root=str(shop.state),
            cluster=shop.cluster,
            board=shop.board,
            stop_seconds=SECONDS_MAX,
            dry_run=dry_run,
            report=lambda _: None,
        )


class Reader:
    """Somebody who follows an output all the while."""

    def __init__(self, shop: Shop) -> None:
        self._follower = follow(shop.output, shop.bootstrap)
        self.read: list[tuple[int, ConsumedRecord]] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._has_read = threading.Condition()
        self._thread.start()

    def _work(self) -> None:
        for record in self._follower:
            with self._has_read:
                self.read.append((self._follower.version, record))
                self._has_read.notify_all()

    def waits_for(self, count: int) -> None:
        with self._has_read:
            assert self._has_read.wait_for(lambda: len(self.read) >= count, SECONDS_MAX), len(self.read)

    def close(self) -> None:
        self._follower.close()
        self._thread.join(SECONDS_MAX)


def test_an_upgrade_that_changes_the_aggregation_shows_readers_neither_a_gap_nor_a_result_twice(
    shop: Shop,
) -> None:
    totals, both = shop.app(v1="sum(cents)"), shop.app(v1="sum(cents)", v2="avg(cents)")
    name = totals.names()[0]
    sums, means = windows(600, sum), windows(900, mean)

    # Version 1 runs, and somebody reads what it puts out.
    shop.click(300)
    with shop.running(totals):
        shop.waits_for(lambda known: any(each.rows_in == 300 for each in known.values()))
        reader = Reader(shop)
        shop.click(300)

        # The change is seen to need a replay before anything happens.
        with shop.sparks() as spark:
            _, found = differences(spark, both, str(shop.state), shop.cluster)
        assert found.level is Level.REPLAY
        assert "aggregation changed from sum(cents) to avg(cents)" in found.differences[0].reason

        # Version 2 comes up to where version 1 is, which goes on.
        shop.waits_for(lambda known: any(each.rows_in == 600 for each in known.values()))
        with shop.sparks() as spark:
            replayed = replay(
                spark,
                both,
                name,
                2,
                root=str(shop.state),
                cluster=shop.cluster,
                board=shop.board,
                report=lambda _: None,
            )
        assert replayed.has_caught_up
        compared = replayed.comparison
        assert (compared.same, compared.differing, compared.only_new) == (0, len(sums), 0)
        assert compared.examples

        # Nothing changes by looking at what a switch would do.
        assert switched(shop, both, 2, dry_run=True).is_old_running
        assert shop.status_of(1).state == "running"

        # The switch stops version 1, and readers go over.
        done = switched(shop, both, 2)
        assert done.pointer is not None
        assert shop.status_of(1).state == "stopped"
    reader.waits_for(len(sums))
    shop.click(300)
    shop.catch_up(both)
    reader.waits_for(len(means))
    reader.close()

    ones = values([record for version, record in reader.read if version == 1])
    twos = values([record for version, record in reader.read if version == 2])
    assert dict(ones) == sums
    assert dict(twos) == {key: value for key, value in means.items() if key not in sums}
    assert len(ones) + len(twos) == len(means), "a result came twice"

    # Who comes later reads the whole history in the new version's words.
    assert sorted(values(shop.read())) == sorted(means.items())


@pytest.mark.slow
def test_a_switch_can_be_taken_back_and_what_nobody_reads_be_retired(shop: Shop) -> None:
    both = shop.app(v1="sum(cents)", v2="avg(cents)")
    name = both.names()[0]
    shop.click(200)
    shop.catch_up(shop.app(v1="sum(cents)"))
    with follow(shop.output, shop.bootstrap, stops_at_end=True) as early:
        begun = list(early)
    with shop.sparks() as spark:
        replay(
            spark,
            both,
            name,
            None,
            root=str(shop.state),
            cluster=shop.cluster,
            board=shop.board,
            report=lambda _: None,
        )
    switched(shop, both, 2)
    shop.click(200)
    shop.catch_up(both)

    back = switched(shop, both, 1)
    shop.click(200)
    shop.catch_up(both)

    # Somebody who had read version 1 goes through all three.
    assert back.behind == 200
    with follow(shop.output, shop.bootstrap, place=early.place, stops_at_end=True) as later:
        rest = list(later)
    one, two, three = windows(200, sum), windows(400, mean), windows(600, sum)
    expected = [*one.items()]
    expected += [(key, value) for key, value in two.items() if key not in one]
    expected += [(key, value) for key, value in three.items() if key not in two]
    assert sorted(values(begun + rest)) == sorted(expected)

    with pytest.raises(AppRefused, match="are on version 1: switch to another one first"):
        retire(shop.board, "shop", name, 1, root=str(shop.state), dry_run=False)
    assert retire(shop.board, "shop", name, 2, root=str(shop.state), dry_run=True).records > 0
    retire(shop.board, "shop", name, 2, root=str(shop.state), dry_run=False)
    assert f"{shop.output}.v2" not in shop.board.admin.topic_names()
    assert shop.board.refresh().status("shop", name, 2) is None
    with pytest.raises(AppRefused, match="nothing is known of"):
        retire(shop.board, "shop", name, 2, root=str(shop.state), dry_run=False)


def test_a_query_is_stopped_from_elsewhere_and_a_second_run_is_refused(shop: Shop) -> None:
    app = shop.app(v1="sum(cents)")
    shop.click(100)
    with shop.running(app):
        shop.waits_for(lambda known: any(each.rows_in == 100 for each in known.values()))
        with pytest.raises(QueryIsRunning, match="v1 runs already, as process"):
            shop.catch_up(app)

        running = shop.status_of(1)
        (stopped,) = stop(shop.board, running.name, [running], SECONDS_MAX)

        assert stopped.state == "stopped"
        assert stopped.lag == {shop.topic: 0}
        assert (stopped.error, stopped.rows_in, stopped.late_rows) == ("", 100, 0)
    shop.click(100)
    shop.catch_up(app)
    assert shop.status_of(1).state == "finished"
    assert sorted(values(shop.read())) == sorted(windows(200, sum).items())


def test_a_start_that_would_misread_its_state_is_refused_with_the_way_on(shop: Shop) -> None:
    shop.click(100)
    shop.catch_up(shop.app(v1="sum(cents)"))

    # The sum of the clicks so far would pass for their maximum: the state has the same form.
    with pytest.raises(AppRefused, match=r"from sum\(cents\) to max\(cast\(cents as bigint\)\)") as refused:
        shop.catch_up(shop.app(v1="max(cast(cents as bigint))"))
    assert "Give the changed query version=2" in str(refused.value)
    assert "riverlog pipelines replay app.py" in str(refused.value)

    with pytest.raises(AppRefused, match=r"readers are on version 1, and app\.py has version 2 alone"):
        shop.catch_up(shop.app(v2="avg(cents)"))


def test_a_query_that_fails_is_named_with_its_own_reason(shop: Shop) -> None:
    app = App("shop")

    @app.query("halves", output=shop.output)
    def halves(context: object) -> object:
        @F.udf("double")
        def half(cents):  # type: ignore[no-untyped-def]  # Spark warns of hints that it does not know
            if cents == 7:
                raise ValueError("seven has no half")
            return cents / 2

        clicks = context.topic(shop.topic, schema="cents int")  # type: ignore[attr-defined]  # a Context
        return clicks.select(half("cents").alias("half"))

    shop.click(10)

    with pytest.raises(QueryFailed, match="query halves v1 failed: ValueError: seven has no half"):
        shop.catch_up(app)

    status = shop.board.refresh().status("shop", "halves", 1)
    assert status is not None
    assert (status.state, status.error.splitlines()[0]) == ("failed", "ValueError: seven has no half")


def test_what_a_function_gives_must_make_sense(shop: Shop) -> None:
    def app(function: object, **options: object) -> App:
        made = App("shop")
        made.query("q", **options)(function)  # type: ignore[arg-type]  # wrong on purpose
        return made

    frame = shop.spark.range(1)
    cases = [
        (app(lambda _: 7, output=shop.output), "gave int: a DataFrame is expected"),
        (app(lambda _: frame, output=shop.output), "reads no stream"),
        (app(lambda c: c.topic(shop.topic)), "has no output"),
        (app(lambda c: c.topic(shop.topic, schema="a int"), output="x", key="b"), "key=b is no column"),
    ]
    for wrong, reason in cases:
        with pytest.raises(AppRefused, match=reason):
            shop.catch_up(wrong)
    with pytest.raises(QueryFailed, match="could not be built: ZeroDivisionError"):
        shop.catch_up(app(lambda _: 1 / 0, output="x"))


def test_results_may_be_published_each_time_they_change_and_bad_records_are_counted(shop: Shop) -> None:
    app = App("shop")

    @app.query("counts", output=shop.output, key="page", output_mode="update")
    def counts(context: object) -> object:
        return context.topic(shop.topic, schema="page string").groupBy("page").count()  # type: ignore[attr-defined]

    shop.click(30)
    shop.catch_up(app)
    with Producer(shop.bootstrap) as producer:
        producer.send(shop.topic, b"no JSON")
    shop.click(3)
    shop.catch_up(app)

    assert sorted((record.key, record.value) for record in shop.read()) == [
        (key, b'{"page":"%s","count":%d}' % (key, count))
        for key in (b"p0", b"p1", b"p2")
        for count in (10, 11)
    ]
    status = shop.board.refresh().status("shop", "counts", 1)
    assert status is not None
    assert (status.rows_in, status.bad_rows) == (4, 1)


def test_an_output_that_nobody_publishes_is_named(shop: Shop) -> None:
    with pytest.raises(UnknownOutput, match="no app has an output 'nothing'"):
        follow("nothing", shop.bootstrap)
