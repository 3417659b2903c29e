"""Spark: compiled loops on its workers (`engine/spark_jobs.py`), and expressions for what does not add up over parts.

For expressions Parquet files are read by Spark itself. All else (CSV, JSON Lines, tables in memory) is read by our own
reader and handed over, since Spark reads text in ways of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from counterrank import temporary
from counterrank.engine.partitioned import PartitionedPass, Unlisted, adds_up
from counterrank.engine.plan import Pass, Plan
from counterrank.engine.relational import Relational, temporary_name
from counterrank.engine.spark_jobs import SparkJobs, missing
from counterrank.errors import InputError, NotInstalled
from counterrank.log import Log
from counterrank.log.files import ParquetPart, Part, TextPart, Wanted
from counterrank.log.read import IbisPart
from counterrank.records import dataclass

JAVA = 17
PARTITIONS = "spark.sql.shuffle.partitions"
FILE_BYTES = 32 << 20  # bytes of Parquet files for each part: unpacked they are several times as many
SMALL = 64 << 20  # bytes of a table that is sent whole to every worker
UNABLE = (
    "Spark's workers cannot count by compiled loops ({}), so this took many times as long: give them the Python that "
    "has counterrank in this version, by PYSPARK_PYTHON"
)
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
}

_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
# Java's slower compiler is for what runs very often: in a process that counts a log or a few it would take more than it
# gives, half of the seconds of a first call among them.
_PATIENT = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=50000 -XX:Tier4CompileThreshold=200000 "
    "-XX:Tier4BackEdgeThreshold=1000000"
)
_COMPILES = ("spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions")  # before the user's own options


def _near(master: str) -> dict[str, str]:
    """Settings for a Spark on this machine, whose driver nobody else needs to reach."""
    if master.startswith("local"):
        return _LOOPBACK | {"spark.driver.memory": "4g"}
    return _LOOPBACK if re.match(r"spark://(127\.0\.0\.1|localhost):\d+$", master) else {}


def _compiling() -> dict[str, str]:
    """How Java compiles, where this machine's own settings of Spark say nothing of it."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf")
    try:
        given = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        given = ""
    return {name: _PATIENT for name in _COMPILES if name not in given}


def open_spark(address: str) -> Spark:
    """The Spark engine at this master (`spark`: all cores of this machine, or the session that runs already)."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise NotInstalled(
            "`engine='spark'` needs pyspark: from counterrank's folder, pip install '.[spark]'"
        ) from None
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    running = SparkContext._active_spark_context
    master = "local[*]" if address == "spark" else address
    if running is not None and address not in ("spark", running.master):
        raise InputError(
            f"Spark runs at {running.master} in this process already, so it cannot open {address}: "
            "use `engine='spark'`, or stop that session first"
        )
    if running is None:
        _check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(master).appName("counterrank")
        for key, value in (QUIET | _compiling() | _near(master)).items():
            builder = builder.config(key, value)
        try:
            session = _start(builder)
        except Exception as error:
            raise InputError(f"Spark cannot start at {master} ({_first_line(error)}): check the address") from None
        session.sparkContext.setLogLevel("ERROR")
    # a session of our own, so that settings and temporary views do not meet the user's
    session = SparkSession.builder.getOrCreate().newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.caseSensitive", "true")
    session.conf.set(PARTITIONS, str(partitions(session.sparkContext.defaultParallelism, 0)))
    return Spark(ibis.pyspark.connect(session), address, session)


def partitions(cores: int, size: int) -> int:
    """Into how many parts rows are dealt out: two for each core of the cluster, more where files are large.

    Spark's own choice, 200 whatever the log, makes thousands of tasks of a small one.

    >>> partitions(2, 25_000_000), partitions(16, 100 << 30)
    (4, 3200)
    """
    return max(2 * cores, -(-size // FILE_BYTES))


def _start(builder: Any) -> Any:
    """A new session; what the Java side says while it starts (hints on log levels) is not for our users."""
    sys.stderr.flush()
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        return builder.getOrCreate()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def java_version() -> int | None:
    """The version of the Java that Spark would start, None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(found[1]) if found else None


def _check_java() -> None:
    version = java_version()
    if version is not None and version >= JAVA:
        return
    came = "found none" if version is None else f"found Java {version}"
    where = f" in JAVA_HOME={os.environ['JAVA_HOME']}" if os.environ.get("JAVA_HOME") else ""
    raise NotInstalled(
        f"`engine='spark'` needs Java {JAVA} or later, {came}{where}: install one (Debian, Ubuntu: apt install "
        f"openjdk-{JAVA}-jre-headless; macOS: brew install openjdk@{JAVA}), or set JAVA_HOME to where it is"
    )


@dataclass
class Spark(Relational):
    """The relational engine with Spark's own ways to read files, keep tables and hand over results."""

    gathers: ClassVar[bool] = False  # equal rows of several machines would have to meet first: a shuffle of the log
    session: Any = None
    made: list[temporary.Folder] = field(default_factory=list)  # for what was scanned and is not kept yet
    in_use: dict[str, list[temporary.Folder]] = field(default_factory=dict)  # by the name of the kept table
    size: int = 0  # bytes of the files that were scanned

    def counted(self, log: Log, plan: Plan) -> Pass:
        """By compiled loops on the workers where all that is asked for adds up, else by expressions."""
        if adds_up(plan):
            if said := missing(self.session):
                log = replace(log, notes=(*log.notes, UNABLE.format(said)))
            else:
                with contextlib.suppress(Unlisted):
                    return PartitionedPass(log, plan, SparkJobs(self, log, plan))
        return super().counted(log, plan)

    def scan(self, part: Part, wanted: Wanted) -> ir.Table:
        # Spark skips names that begin so, and takes a colon for a URL
        if isinstance(part, ParquetPart) and part.path.name[0] not in "_." and ":" not in os.path.abspath(part.name):
            self.size += part.path.stat().st_size
            cores = self.session.sparkContext.defaultParallelism
            self.session.conf.set(PARTITIONS, str(partitions(cores, self.size)))
            frame = _chosen(self._read(part.path, part.name), wanted)
        elif isinstance(part, IbisPart) and getattr(part.expression.get_backend(), "_session", None) is self.session:
            return super().scan(part, wanted)
        else:
            frame = self._handed_over(part, wanted)
        return self._named(frame)

    def _read(self, path: Path, name: str) -> Any:
        plain = re.sub(r"([\\{}\[\]*?])", r"\\\1", str(path.absolute()))
        try:
            return self.session.read.parquet("file://" + plain)
        except Exception as error:
            raise InputError(f"{name}: Spark cannot read it ({_first_line(error)})") from None

    def _handed_over(self, part: Part, wanted: Wanted) -> Any:
        """Rows as our own reader gives them, so that text means the same on every engine.

        From text files a Spark on this machine gets them as a temporary Parquet file, any other through its driver.
        """
        if not isinstance(part, TextPart) or not self.session.sparkContext.master.startswith("local"):
            return self._frame(pa.Table.from_batches(list(_whole(part, wanted))))
        folder, path = self.copied(part, wanted, _taken)
        self.made.append(folder)
        return self._read(path, part.name)

    def copied(
        self, part: Part, wanted: Wanted, taken: Callable[[pa.Schema], pa.Schema]
    ) -> tuple[temporary.Folder, Path]:
        """The rows in a temporary Parquet file, and its folder; `taken` has the types that are taken from it."""
        try:
            batches = _whole(part, wanted)
            folder = temporary.Folder()
            path = Path(folder.name) / "rows.parquet"
            first = next(batches)
            schema = taken(first.schema)
            with pq.ParquetWriter(path, schema) as file:
                for batch in chain([first], batches):
                    file.write_table(pa.Table.from_batches([batch]).cast(schema))
        except OSError as error:
            raise InputError(
                f"{part.name}: no temporary copy for Spark can be written ({error.strerror or _first_line(error)}): "
                "make room, set TMPDIR to another folder, or give Parquet"
            ) from None
        return folder, path

    def _frame(self, table: pa.Table) -> Any:
        return self.session.createDataFrame(table.cast(_taken(table.schema)))

    def _named(self, frame: Any) -> ir.Table:
        name = temporary_name()
        frame.createOrReplaceTempView(name)
        return self.backend.table(name)

    def keep(self, table: ir.Table) -> ir.Table:
        from pyspark import StorageLevel
        from pyspark.sql import functions as f

        frame = self.session.sql(self.backend.compile(table)).withColumn("row", f.monotonically_increasing_id())
        kept = self._named(frame.persist(StorageLevel.MEMORY_AND_DISK))
        self.in_use[kept.get_name()], self.made, self.size = self.made, [], 0
        return kept

    def drop(self, table: ir.Table) -> None:
        try:
            self.session.table(table.get_name()).unpersist()
            self.session.catalog.dropTempView(table.get_name())
        except Exception:  # noqa: S110 - Spark may have stopped already
            pass
        self.in_use.pop(table.get_name(), None)

    def upload(self, table: pa.Table) -> ir.Table:
        frame = self._frame(table)
        return self._named(frame.hint("broadcast") if table.nbytes < SMALL else frame)

    def fetch(self, table: ir.Table) -> pa.Table:
        try:
            return self.session.sql(self.backend.compile(table)).toArrow()
        except Exception as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> InputError:
        return InputError(f"Spark could not count the log ({_first_line(error)})")


def _whole(part: Part, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """All batches of a part, one at least, with the same columns: what is wrong in a row of a CSV file is the last."""
    marked = isinstance(part, TextPart) and part.kind == "csv"
    none = True
    for batch in part.batches(wanted):
        none = False
        if marked and "problem_" not in batch.schema.names:
            batch = batch.append_column("problem_", pa.array(np.zeros(len(batch), np.int64)))
        yield batch
    if none:
        yield pa.RecordBatch.from_pylist([], pa.schema(part.types(wanted)))


def _chosen(frame: Any, wanted: Wanted) -> Any:
    from pyspark.sql import functions as f

    return frame.select(*(f.col("`" + theirs.replace("`", "``") + "`").alias(ours) for ours, theirs in wanted.items()))


def _taken(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(each.name, _plain(each.type)) for each in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    """The nearest Arrow type that Spark takes: no dictionaries, views or unsigned 64-bit integers."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if hasattr(kind, "value_type") and not pa.types.is_map(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) or kind in (pa.uint64(), pa.null()):
        return pa.string()
    return kind


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
