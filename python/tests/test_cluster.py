"""sharpen.study with executors: the same bits as one thread, whatever happens to the workers."""

import multiprocessing
import os
import signal
import struct
import sys
import threading
import zlib
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import sharpen
from sharpen import _cluster, _core, _worker
from sharpen._engine import Ended, Engine

GRID = dict(k=[2, 3], frameworks=["rolling", "dfl"], optimizers=["swap", "equal"], lookback=40,
            epochs=2, seeds=2, progress=False)
TASKS = 14  # 8 cells, 4 trainings, perfect foresight for each k


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=220, seed=2, predictability=0.3)


@pytest.fixture(scope="module")
def study(market):
    return lambda out, **arguments: sharpen.study({"small": market}, **GRID, out=out, **arguments)


def tables(study):
    """The report's figures, but for what the clock said."""
    text = study.report(replications=100, progress=False).text("csv")
    return [line for line in text.splitlines() if ",seconds," not in line]


@pytest.fixture(scope="module")
def alone(study, tmp_path_factory):
    return tables(study(tmp_path_factory.mktemp("alone"), threads=1))


class Here(Executor):
    """Runs a task when it is submitted; `disturb(number, run, future)` may do something else, and
    answers whether it has."""

    _max_workers = 2

    def __init__(self, disturb=lambda number, run, future: False):
        self.disturb, self.count = disturb, 0

    def submit(self, function, *arguments, **keywords):
        future, self.count = Future(), self.count + 1
        run = lambda: function(*arguments, **keywords)  # noqa: E731
        if not self.disturb(self.count, run, future):
            future.set_result(run())
        return future


POOLS = {
    "here": Here,
    "one thread": lambda: ThreadPoolExecutor(1),
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": lambda: ProcessPoolExecutor(2),
    "spawned": lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
}


@pytest.mark.parametrize("name", POOLS)
def test_every_executor_gives_the_bits_of_one_thread(study, alone, tmp_path, name):
    with POOLS[name]() as pool:
        found = study(tmp_path, executor=pool)
    assert tables(found) == alone and found.warnings == []
    assert found.tally["done"] == found.tally["computed"] == 8 and found.tally["trainings"] == 4


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_bound_the_tasks_at_a_time(study, alone, tmp_path, threads):
    running, most, lock = 0, 0, threading.Lock()

    class Counting(ThreadPoolExecutor):
        def submit(self, function, *arguments):
            def counted():
                nonlocal running, most
                with lock:
                    running, most = running + 1, max(most, running + 1)
                try:
                    return function(*arguments)
                finally:
                    with lock:
                        running -= 1

            return super().submit(counted)

    with Counting(8) as pool:
        assert tables(study(tmp_path, executor=pool, threads=threads)) == alone
    assert most == threads


@pytest.mark.parametrize("pool, workers", [(Here, 2), (lambda: ThreadPoolExecutor(3), 3),
                                           (lambda: ProcessPoolExecutor(2), 2)])
def test_a_market_travels_once_to_each_worker(study, market, tmp_path, monkeypatch, pool, workers):
    sent = []

    class Counting(_core.Coordinator):
        def market(self, market_hash):
            sent.append(market_hash)
            return super().market(market_hash)

    monkeypatch.setattr(_core, "Coordinator", Counting)
    with pool() as executor:
        study(tmp_path, executor=executor)
    assert len(set(sent)) == 1 and 1 <= len(sent) <= workers < TASKS


def test_a_worker_that_has_lost_its_market_asks_for_it(study, alone, tmp_path):
    asked = []

    def forget(number, run, future):
        _worker._markets.clear()
        answer = run()
        asked.append(answer[0] == _worker.NEEDS_MARKET)
        future.set_result(answer)
        return True

    assert tables(study(tmp_path, executor=Here(forget))) == alone
    assert any(asked) and not all(asked)


def test_a_worker_that_asks_for_a_market_that_it_was_sent_has_failed(study, tmp_path):
    def ask(number, run, future):
        assert number < 10 * TASKS  # it has an end
        future.set_result((_worker.NEEDS_MARKET, "market", str(_core.program())))
        return True

    with pytest.warns(sharpen.SharpenWarning, match="gave no result: it asks for a market"):
        assert study(tmp_path, executor=Here(ask)).tally["failed"] == 8


def test_a_worker_keeps_a_few_markets(study, market, tmp_path):
    many = {f"m{i}": market.iloc[i:] for i in range(_worker._MARKETS_KEPT + 2)}
    settings = dict(k=2, frameworks="rolling", optimizers=["swap", "equal"], lookback=40,
                    progress=False)
    found = sharpen.study(many, **settings, out=tmp_path, executor=Here())
    assert found.tally["done"] == 2 * len(many)
    assert len(_worker._markets) == _worker._MARKETS_KEPT


def once(numbers, do):
    """A disturbance of some tasks only."""
    return lambda number, run, future: number in numbers and (do(run, future) or True)


def dies(run, future):
    future.set_exception(RuntimeError("the worker has died"))


def damages(run, future):
    kind, data, program = run()
    future.set_result((kind, data[:40] + bytes([data[40] ^ 1]) + data[41:], program))


def cuts(run, future):
    kind, data, program = run()
    future.set_result((kind, data[: len(data) // 2], program))


def answers_nonsense(run, future):
    future.set_result("yes")


def is_cancelled(run, future):
    future.cancel()


@pytest.mark.parametrize("fault", [dies, damages, cuts, answers_nonsense, is_cancelled])
def test_a_fault_costs_its_task_only(study, alone, tmp_path, fault):
    executor = Here(once({1, 4, 7}, fault))
    with pytest.warns(sharpen.SharpenWarning, match="3 times a task was lost and sent again"):
        found = study(tmp_path, executor=executor)
    assert tables(found) == alone and found.tally["failed"] == 0
    assert executor.count == TASKS + 3


def test_results_of_other_tasks_are_refused(study, alone, tmp_path):
    kept = []

    def mix_up(number, run, future):
        kept.append(run())
        future.set_result(kept[0] if number == 3 else kept[-1])
        return True

    with pytest.warns(sharpen.SharpenWarning, match="1 task was lost.*another task"):
        assert tables(study(tmp_path, executor=Here(mix_up))) == alone


def test_a_task_that_is_lost_three_times_has_failed(study, alone, tmp_path):
    """And is tried again by retry."""
    executor = Here(lambda number, run, future: number > TASKS - 2 and (dies(run, future) or True))
    with pytest.warns(sharpen.SharpenWarning, match="cells failed"):
        found = study(tmp_path, executor=executor)
    failed = found.cells[found.cells["state"] == "failed"]
    assert 0 < len(failed) < 8
    assert failed["reason"].str.contains("lost 3 times.*the worker has died").all()
    with pytest.warns(sharpen.SharpenWarning, match="cells failed"):  # as it was
        assert study(tmp_path, executor=Here()).tally["computed"] == 0
    again = study(tmp_path, executor=Here(), retry=True)
    assert tables(again) == alone and again.tally["computed"] == len(failed)


@pytest.mark.parametrize("answer", [
    RuntimeError("\udcff" * 100_000),
    (_worker.REFUSED, "\udcff" * 100_000, str(_core.program())),
])
def test_reasons_are_short_and_can_be_written(study, tmp_path, answer):
    def odd(number, run, future):
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return True

    with pytest.warns(sharpen.SharpenWarning, match="8 of 8 cells failed"):
        found = study(tmp_path, executor=Here(odd))
    assert found.cells["reason"].str.len().max() < 600
    assert found.cells["reason"].str.contains(r"\?\?\?").all()


def test_a_task_that_hangs_is_sent_again_and_what_it_finds_late_is_not_heard(study, alone, tmp_path):
    late = []

    def hang(number, run, future):
        if number > TASKS and len(late) == 2:  # a task is sent again: the first one was given up
            run_late, hung = late.pop(0)
            hung.set_result(run_late())
        if number not in (2, 5):
            return False
        future.set_running_or_notify_cancel()
        late.append((run, future))
        return True

    executor = Here(hang)
    executor._max_workers = 3  # of which two hang
    with pytest.warns(sharpen.SharpenWarning, match="2 times.*longer than task_timeout = 0.2"):
        found = study(tmp_path, executor=executor, task_timeout=0.2)
    assert tables(found) == alone and len(late) == 1


def test_workers_that_all_hang_end_the_study_with_a_sentence(study, tmp_path):
    def hang(number, run, future):
        return number > 9 and future.set_running_or_notify_cancel()

    with pytest.raises(sharpen.Failure, match="all its workers are at tasks that took longer"):
        study(tmp_path, executor=Here(hang), task_timeout=0.1)
    assert sharpen.Study.load(tmp_path).cells["state"].eq("done").any()


def begins_late(run, future):
    """As where a pool is busy with something else."""
    threading.Timer(0.6, lambda: future.set_result(run())).start()


def test_a_task_that_waits_for_a_worker_takes_no_time(study, alone, tmp_path):
    found = study(tmp_path, executor=Here(once({2, 5}, begins_late)), task_timeout=0.2)
    assert tables(found) == alone and found.warnings == []


def kills_its_process(marks, count):
    """In place of run_task: the first ones die by SIGKILL, each leaving a mark."""
    real = _core.run_task

    def run_task(*arguments):
        for number in range(count):
            try:
                os.close(os.open(marks / str(number), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    return run_task


class Named(ProcessPoolExecutor):
    """Processes of a subclass are kept apart, too."""


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, Named])
def test_processes_that_are_killed_are_replaced(study, alone, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(_core, "run_task", kills_its_process(tmp_path, 2))
    pool = kind(2, multiprocessing.get_context("fork"))
    with pytest.warns(sharpen.SharpenWarning, match="lost and sent again.*BrokenProcessPool"):
        found = study(tmp_path / "s", executor=pool)
    assert tables(found) == alone


def test_a_task_that_kills_three_processes_takes_no_other_with_it(study, tmp_path, monkeypatch):
    real = _core.run_task

    def run_task(task, *arguments):
        if b"equal" in task:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(task, *arguments)

    monkeypatch.setattr(_core, "run_task", run_task)
    pool = ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
    with pytest.warns(sharpen.SharpenWarning, match="2 of 8 cells failed"):
        found = study(tmp_path, executor=pool)
    assert set(found.cells[found.cells["state"] == "failed"]["method"]) == {"equal"}


class Together(Engine):
    """As Dask: who kills the worker is told only with all that it had, after four deaths each."""

    depth = 4

    def __init__(self, kills):
        super().__init__()
        self.kills, self.tasks, self.killers = kills, {}, set()

    def workers(self):
        return 1

    def submit(self, task):
        handle = len(self.tasks)
        self.tasks[handle] = task
        return handle

    def ended(self, handles, seconds):
        first = min(handles, key=lambda handle: self.tasks[handle].suspect)
        task = self.tasks[first]
        if not self.kills(task.data):
            return [Ended(first, _worker.run(task.data, task.market, self.bytes_of(task.market)))]
        self.killers.add(task.number)
        return [Ended(each, error=RuntimeError(f"task {self.tasks[each].number}"), deaths=4)
                for each in handles]

    def cancel(self, handle):
        pass


@pytest.mark.parametrize("depth", [2, 3, 4, 6])
def test_a_task_that_kills_its_workers_fails_alone_where_all_are_blamed(
        study, tmp_path, monkeypatch, depth):
    """And with a reason of its own, whoever was out together with whom."""
    engine = Together(lambda task: b"equal" in task)
    engine.depth = depth
    monkeypatch.setattr(_cluster, "engine_of", lambda executor: engine)
    with pytest.warns(sharpen.SharpenWarning, match="2 of 8 cells failed"):
        found = study(tmp_path, executor="together")
    failed = found.cells[found.cells["state"] == "failed"]
    assert set(failed["method"]) == {"equal"} and len(engine.killers) == 2
    assert set(failed["reason"].str.extract(r"task (\d+)")[0].astype(int)) == engine.killers


def test_processes_that_hang_are_killed(study, alone, tmp_path, monkeypatch):
    real, mark = _core.run_task, tmp_path / "hung"

    def run_task(*arguments):
        if not mark.exists():
            mark.touch()
            signal.pause()
        return real(*arguments)

    monkeypatch.setattr(_core, "run_task", run_task)
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
    with pytest.warns(sharpen.SharpenWarning, match="task_timeout"):
        found = study(tmp_path / "s", executor=pool, task_timeout=1)
    assert tables(found) == alone


def of_version(data, version):
    """The bytes of a task as another version would have written them."""
    body = data[:-4].replace(sharpen.__version__.encode(), version.encode())
    assert body != data[:-4]
    return body + struct.pack("<I", zlib.crc32(body))


def test_a_worker_of_another_version_stops_the_study(study, alone, tmp_path):
    """With both named; what is finished is kept, and so are the markets beside it."""
    other = "9" + sharpen.__version__[1:]

    class Foreign(Here):
        def submit(self, function, task, *rest):
            if self.count < 10:
                return super().submit(function, task, *rest)
            future = Future()
            kind, text, _ = function(of_version(task, other), *rest)
            future.set_result((kind, text, f"sharpen {other}"))
            return future

    with pytest.raises(sharpen.InputError) as caught:
        study(tmp_path, executor=Foreign())
    assert other in str(caught.value) and f"sharpen {sharpen.__version__}" in str(caught.value)
    assert (tmp_path / "small.csv").exists()
    before = sharpen.Study.load(tmp_path).cells["state"].eq("done").sum()
    assert before > 0
    again = study(tmp_path, executor=Here())
    assert tables(again) == alone and again.tally["computed"] == 8 - before


def test_a_worker_without_sharpen_stops_the_study(study, tmp_path):
    def missing(run, future):
        future.set_exception(ModuleNotFoundError("No module named 'sharpen'", name="sharpen"))

    with pytest.raises(sharpen.InputError, match="install sharpen .* where the workers are"):
        study(tmp_path, executor=Here(once({3}, missing)))


def test_ctrl_c_keeps_what_is_finished(study, alone, tmp_path):
    def interrupt(run, future):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        study(tmp_path, executor=Here(once({10}, interrupt)))
    found = sharpen.Study.load(tmp_path)
    done = found.cells["state"].eq("done").sum()
    assert 0 < done < 8
    again = study(tmp_path, executor=Here())  # while the error is held: it holds no lock
    assert tables(again) == alone and again.tally["computed"] == 8 - done
    del caught


def test_ctrl_c_keeps_results_that_are_about_to_be_kept(study, alone, tmp_path, monkeypatch):
    class Interrupted(_core.Coordinator):
        puts = 0

        def put(self, number, result):
            Interrupted.puts += 1
            if Interrupted.puts == 5:
                raise KeyboardInterrupt
            return super().put(number, result)

    monkeypatch.setattr(_core, "Coordinator", Interrupted)
    first, second = Here(), Here()
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, executor=first)
    assert tables(study(tmp_path, executor=second)) == alone
    assert first.count + second.count == TASKS


def test_ctrl_c_waits_a_moment_for_jobs_that_are_done(study, alone, tmp_path):
    ran = []

    def interrupt(number, run):
        if number == 4:
            raise KeyboardInterrupt
        return Job(lambda: ran.append(number) or run())

    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, executor=Queue(interrupt))
    again = Queue()
    assert tables(study(tmp_path, executor=again)) == alone
    assert sorted(ran) == [1, 2, 3] and again.count == TASKS - 3


def test_an_executor_that_breaks_ends_the_study_with_a_sentence(study, alone, tmp_path):
    pool = ThreadPoolExecutor(1)
    count = 0

    def submit(*arguments, real=pool.submit):
        nonlocal count
        count += 1
        if count == 9:
            pool.shutdown(wait=True)
        return real(*arguments)

    pool.submit = submit
    with pytest.raises(sharpen.Failure, match="takes no more tasks.*go on with the same call"):
        study(tmp_path, executor=pool)
    assert sharpen.Study.load(tmp_path).cells["state"].eq("done").any()
    assert tables(study(tmp_path, executor=Here())) == alone


def test_an_engine_that_raises_ends_the_study_with_a_sentence(study, alone, tmp_path):
    def raises(run, future):
        raise OSError("connection reset")

    with pytest.raises(sharpen.Failure, match=r"no more tasks \(OSError: connection reset\)"):
        study(tmp_path, executor=Here(once({9}, raises)))
    assert sharpen.Study.load(tmp_path).cells["state"].eq("done").any()
    assert tables(study(tmp_path, executor=Here())) == alone


class Job:
    """As submitit's, which are no futures."""

    def __init__(self, run):
        self.run, self.asked = run, 0

    def done(self):
        self.asked += 1
        return self.asked > 1

    def result(self):
        return self.run()


class Queue:
    """`make(number, run)`: a job of its own."""

    def __init__(self, make=lambda number, run: Job(run)):
        self.make, self.count = make, 0

    def submit(self, function, *arguments):
        self.count += 1
        return self.make(self.count, lambda: function(*arguments))


def test_jobs_need_only_say_when_they_are_done(study, alone, tmp_path):
    assert tables(study(tmp_path, executor=Queue())) == alone


FAILED_JOB = """Job (task=0) failed during processing with trace:
----------------------
Traceback (most recent call last):
  File "submission.py", line 51, in process_job
    delayed = utils.DelayedSubmission.load(paths.submitted_pickle)

ModuleNotFoundError: No module named '%s'

----------------------
You can check full logs with 'job.stderr(0)' and 'job.stdout(0)'or at paths:
  - /jobs/1_0_log.err
  - /jobs/1_0_log.out"""


def test_the_trace_of_a_job_says_what_is_missing(study, tmp_path):
    """By the last error of it."""

    def missing(module):
        def fail(run):
            raise RuntimeError(FAILED_JOB % module)

        return Queue(lambda number, run: Job(lambda: fail(run)))

    with pytest.raises(sharpen.InputError, match="install sharpen .* where the workers are"):
        study(tmp_path, executor=missing("sharpen"))
    with pytest.warns(sharpen.SharpenWarning, match="8 of 8 cells failed"):
        found = study(tmp_path, executor=missing("sharpener"))
    reasons = found.cells["reason"]
    assert reasons.str.endswith("ModuleNotFoundError: No module named 'sharpener'").all()


def test_a_job_that_cannot_be_cancelled_costs_its_task_only(study, alone, tmp_path):
    class Hangs(Job):
        def done(self):
            return False

        def cancel(self):
            raise OSError("scancel: error: Invalid job id specified")

    queue = Queue(lambda number, run: (Hangs if number == 2 else Job)(run))
    with pytest.warns(sharpen.SharpenWarning, match="lost and sent again.*task_timeout"):
        assert tables(study(tmp_path, executor=queue, task_timeout=1)) == alone


def breaks_as_it_begins():
    raise RuntimeError("no")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (dict(executor=3), TypeError, "executor is of type int.*has no submit"),
        (dict(executor=ThreadPoolExecutor), TypeError, "executor is of type .*no submit"),
        (dict(executor="rya"), sharpen.InputError, "executor = 'rya'.*did you mean ray"),
        (dict(executor="dask"), sharpen.InputError, r"distributed.Client.*sharpen\[dask\]"),
        (dict(executor="tcp://host:8786"), sharpen.InputError, "give distributed.Client"),
        (dict(executor=Here(), task_timeout="1"), TypeError, "task_timeout is of type str"),
        (dict(executor=Here(), task_timeout=True), TypeError, "task_timeout is of type bool"),
        (dict(executor=Here(), task_timeout=0), sharpen.InputError, "task_timeout = 0 is not"),
        (dict(executor=Here(), task_timeout=float("nan")), sharpen.InputError, "task_timeout"),
        (dict(task_timeout=5), sharpen.InputError, "task_timeout goes with executor"),
        (dict(executor=Here(), threads=-1), sharpen.InputError, "threads"),
        (dict(executor=ProcessPoolExecutor(1, initializer=breaks_as_it_begins)), sharpen.Failure,
         "processes end as they begin"),
    ],
)
def test_what_is_no_executor_is_said_before_anything_is_made(study, tmp_path, arguments, error,
                                                             message):
    with pytest.raises(error, match=message):
        study(tmp_path / "s", **arguments)
    assert not (tmp_path / "s").exists()


def test_a_package_that_is_missing_is_named(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'sharpen\[ray\]'"):
        study(tmp_path / "s", executor="ray")
    assert not (tmp_path / "s").exists()


def test_a_dry_run_needs_no_executor(study, tmp_path):
    assert study(tmp_path / "s", executor=Here(), dry_run=True)["cells"] == 8


def test_progress_tells_the_worker_hours(study, tmp_path, monkeypatch):
    from sharpen import _progress

    seen = []

    class Bar(_progress.Bar):
        def __init__(self):
            super().__init__(None)

        def __call__(self, stage, done, total, note):
            seen.append((done, total, note))

    monkeypatch.setattr(_progress, "bar", lambda progress: Bar())
    study(tmp_path, executor=Here())
    done, total, note = seen[-1]
    assert done == pytest.approx(total) and "8 of 8 cells" in note and "worker-hours" in note
