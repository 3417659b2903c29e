"""Spark: the same expressions beyond one machine. Files are read by Spark itself, tables in memory cross as Arrow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from counterrank.engine.relational import Relational, temporary_name
from counterrank.errors import InputError
from counterrank.log.files import TEXT_TYPES, ParquetPart, Part, TextPart, Wanted
from counterrank.log.read import IbisPart

JAVA = 17
SMALL = 64 << 20  # bytes of a table that is sent whole to every worker
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
}


def open_spark(address: str) -> Spark:
    """The Spark engine at this master (`spark`: all cores of this machine, or the session that runs already)."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("--engine spark needs pyspark: from counterrank's folder, pip install '.[spark]'") from None
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    running = SparkContext._active_spark_context
    master = "local[*]" if address == "spark" else address
    if running is not None and address not in ("spark", running.master):
        raise InputError(
            f"Spark runs at {running.master} in this process already, so it cannot open {address}: "
            "use --engine spark, or stop that session first"
        )
    if running is None:
        _check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(master).appName("counterrank")
        for key, value in (QUIET | (_local(master) if master.startswith("local") else {})).items():
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
    return Spark(ibis.pyspark.connect(session), address, session)


def _local(master: str) -> dict[str, str]:
    count = re.fullmatch(r"local\[(\d+)\b.*", master)
    cores = int(count[1]) if count else (os.cpu_count() or 1) if master != "local" else 1
    return {
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }


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
    raise InputError(
        f"--engine spark needs Java {JAVA} or later, {came}{where}: install one (Debian, Ubuntu: apt install "
        f"openjdk-{JAVA}-jre-headless; macOS: brew install openjdk@{JAVA}), or set JAVA_HOME to where it is"
    )


@dataclass
class Spark(Relational):
    """The relational engine with Spark's own ways to read files, keep tables and hand over results."""

    session: Any = None

    def scan(self, part: Part, wanted: Wanted) -> ir.Table:
        # Spark skips names that begin so, takes one big JSON array for a broken line, and a colon for a URL
        readable = isinstance(part, ParquetPart | TextPart) and not re.search(r"^[_.]|\.json(\.gz)?$", part.path.name)
        readable = readable and ":" not in os.path.abspath(part.name)
        if isinstance(part, TextPart) and readable:
            frame = self._text(part, wanted)
        elif isinstance(part, ParquetPart) and readable:
            frame = _chosen(self._read(part, lambda reader, path: reader.parquet(path)), wanted)
        elif isinstance(part, IbisPart) and getattr(part.expression.get_backend(), "_session", None) is self.session:
            return super().scan(part, wanted)
        else:
            batches = list(part.batches(wanted))
            schema = batches[0].schema if batches else pa.schema(part.types(wanted))
            frame = self._frame(pa.Table.from_batches(batches, schema))
        return self._named(frame)

    def _read(self, part: ParquetPart | TextPart, read: Any) -> Any:
        path = re.sub(r"([\\{}\[\]*?])", r"\\\1", str(part.path.absolute()))
        try:
            return read(self.session.read, "file://" + path)
        except Exception as error:
            raise InputError(f"{part.name}: Spark cannot read it ({_first_line(error)})") from None

    def _text(self, part: TextPart, wanted: Wanted) -> Any:
        """All values as text first, so that ids are never typed and a value of the wrong type becomes missing."""
        from pyspark.sql import functions as f
        from pyspark.sql import types as t

        lists = {theirs for ours, theirs in wanted.items() if TEXT_TYPES[ours].endswith("[]")}
        if part.kind == "csv":
            options = {"header": True, "multiLine": True, "quote": '"', "escape": '"', "mode": "FAILFAST"}
            frame = self._read(part, lambda reader, path: reader.options(**options).csv(path))
            frame = _chosen(frame, wanted).select(*(f.nullif(f.col(c), f.lit("")).alias(c) for c in wanted))
            strict = {"allowSingleQuotes": "false", "mode": "PERMISSIVE"}
            for ours in (c for c in wanted if wanted[c] in lists):
                frame = frame.withColumn(ours, f.from_json(ours, "array<string>", strict))
        else:
            array = t.ArrayType(t.StringType())
            fields = [t.StructField(c, array if c in lists else t.StringType()) for c in dict.fromkeys(wanted.values())]
            schema = t.StructType(fields)
            options = {"allowSingleQuotes": False, "mode": "PERMISSIVE"}
            frame = self._read(part, lambda reader, path: reader.schema(schema).options(**options).json(path))
            frame = _chosen(frame, wanted)
        for ours in wanted:
            kind = TEXT_TYPES[ours]
            if kind == "DOUBLE":
                frame = frame.withColumn(ours, f.expr(_number(ours)))
            elif kind == "DOUBLE[]":
                frame = frame.withColumn(ours, f.expr(f"transform({ours}, one -> {_number('one')})"))
        return frame

    def _frame(self, table: pa.Table) -> Any:
        return self.session.createDataFrame(table.cast(pa.schema([(f.name, _plain(f.type)) for f in table.schema])))

    def _named(self, frame: Any) -> ir.Table:
        name = temporary_name()
        frame.createOrReplaceTempView(name)
        return self.backend.table(name)

    def keep(self, table: ir.Table) -> ir.Table:
        from pyspark import StorageLevel
        from pyspark.sql import functions as f

        frame = self.session.sql(self.backend.compile(table)).withColumn("row", f.monotonically_increasing_id())
        return self._named(frame.persist(StorageLevel.MEMORY_AND_DISK))

    def drop(self, table: ir.Table) -> None:
        try:
            self.session.table(table.get_name()).unpersist()
            self.session.catalog.dropTempView(table.get_name())
        except Exception:  # noqa: S110 - Spark may have stopped already
            pass

    def upload(self, table: pa.Table) -> ir.Table:
        frame = self._frame(table)
        return self._named(frame.hint("broadcast") if table.nbytes < SMALL else frame)

    def fetch(self, table: ir.Table) -> pa.Table:
        try:
            return self.session.sql(self.backend.compile(table)).toArrow()
        except Exception as error:
            raise InputError(f"Spark could not count the log ({_first_line(error)})") from error


def _number(name: str) -> str:
    return f"CASE lower({name}) WHEN 'true' THEN 1.0D WHEN 'false' THEN 0.0D ELSE try_cast({name} AS DOUBLE) END"


def _chosen(frame: Any, wanted: Wanted) -> Any:
    from pyspark.sql import functions as f

    return frame.select(*(f.col("`" + theirs.replace("`", "``") + "`").alias(ours) for ours, theirs in wanted.items()))


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
