#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the mutations of `mutations.py` one by one and shows which test fails.

    scripts/mutate.py [--only 3,7-9] [--table docs/results/mutations.md]
    scripts/mutate.py --random 100 [--seed 1] [--only 3,7-9]

The program is mutated and built in a copy, below build/mutants, and only the
tests that a mutation names run on it, up to the first that fails. Results are
kept until a source changes: the same command goes on after an interruption.
Ends with 0 if every mutation made a test fail, with 1 if not, with 2 where
that could not be found out. It needs what `scripts/test.sh` installs.
With --random it makes mutations of one token each that are drawn at random
(`random_mutations.py`), and runs the short tests of the folder that each is in.
"""
import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from mutations import MUTATIONS
from mutations_page import format_page
from random_mutations import draw

ROOT = Path(__file__).resolve().parent.parent
#: A test that takes longer than that in seconds, or so many times as long as
#: without a mutation, has found a fault, too.
LIMIT, TIMES = 600, 5
#: The most bytes of memory for a test: a fault may make it take all.
MEMORY = 16 << 30
#: What has found a mutation that does not compile.
COMPILER = "the compiler"
#: The programs that tests of lit run.
PROGRAMS = ("commsched-opt", "commsched-run", "commsched-test-opt")
#: What is not part of what a result depends on.
APART = ("docs/", "scripts/")


class Failure(Exception):
    """Why nothing can be said about the mutations."""


class BuildFailure(Failure):
    """Why a program cannot be built."""


def check():
    """Raises Failure unless each mutation's text occurs once in its file and
    its tests exist."""
    problems = []
    for number, mutation in enumerate(MUTATIONS, 1):
        path = ROOT / mutation.file
        if not path.is_file():
            problems.append(f"mutation {number}: no file {mutation.file}")
            continue
        count = path.read_text().count(mutation.old)
        if count != 1:
            found = "not found" if count == 0 else f"found {count} times"
            problems.append(
                f"mutation {number}: text {found} in {mutation.file}: "
                f"{mutation.old.strip().splitlines()[0]}")
        for test in mutation.tests:
            kind, _, name = test.partition(" ")
            if kind == "lit" and not (ROOT / "test" / name).exists():
                problems.append(f"mutation {number}: no test {name}")
    if problems:
        raise Failure("\n".join(problems))


def parse_numbers(text, count):
    """The numbers of a text such as "3,7-9", up to `count`."""
    numbers = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise Failure(f"--only takes numbers such as 3,7-9, not '{text}'")
        first, last = int(match[1]), int(match[2] or match[1])
        numbers.update(range(first, last + 1))
    unknown = sorted(numbers - set(range(1, count + 1)))
    if unknown:
        raise Failure(f"there is no mutation {unknown[0]}; the last one is "
                      f"{count}")
    return numbers


# -- the copy ----------------------------------------------------------------


def call_git(*arguments):
    try:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, check=True, capture_output=True,
            text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"cannot ask git about {ROOT}: {error}") from error


def list_sources():
    """The files of the project, but ignored ones, relative to its root."""
    listed = call_git("ls-files", "-co", "--exclude-standard", "-z")
    names = sorted(set(filter(None, listed.split("\0"))))
    return [name for name in names if (ROOT / name).is_file()]


def copy_sources(tree):
    """Makes `tree` a copy of the sources, in which files that are equal stay
    as they are; returns the digest of all that results depend on."""
    digest = hashlib.sha256()
    sources = [name for name in list_sources()
               if tree.parent not in (ROOT / name).parents]
    for name in sources:
        content = (ROOT / name).read_bytes()
        if not name.startswith(APART):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        target = tree / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    known = set(sources)
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree).as_posix() not in known:
            path.unlink()
    return digest.hexdigest()


@contextlib.contextmanager
def mutated(tree, mutation):
    """Makes the mutation in `tree` for the time of the context."""
    path = tree / mutation.file
    text = path.read_text()
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        yield
    finally:
        path.write_text(text)


# -- the build ---------------------------------------------------------------


def is_compiled(mutation):
    return mutation.file.endswith(".cpp")


def write_alone(path, mutations):
    """Writes the file of CMake that takes mutated sources out of unity
    batches, so that only they are compiled again."""
    lines = []
    for name in sorted({m.file for m in mutations if is_compiled(m)}):
        folder = Path(name).parent
        while not (ROOT / folder / "CMakeLists.txt").is_file():
            folder = folder.parent
        lines.append(
            f"cmake_language(DEFER CALL set_source_files_properties\n"
            f"  ${{CMAKE_SOURCE_DIR}}/{name} DIRECTORY {folder}\n"
            f"  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n")
    path.write_text("".join(lines))


class Builder:
    def __init__(self, folder, jobs, mutations):
        self.tree, self.build = folder / "tree", folder / "build"
        self.jobs, self._mutations = jobs, mutations
        self.environment = {**os.environ, "VIRTUAL_ENV": str(ROOT / ".venv")}

    def _run(self, *command):
        result = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True,
            env=self.environment)
        if result.returncode:
            output = (result.stdout + result.stderr).strip().splitlines()
            raise BuildFailure("cannot build:\n" + "\n".join(output[-40:]))

    def configure(self):
        self.build.mkdir(parents=True, exist_ok=True)
        alone = self.build / "alone.cmake"
        write_alone(alone, self._mutations)
        self._run(
            "cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
            "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16",
            "-DCOMMSCHED_ENABLE_BENCHMARKS=OFF",
            "-DCOMMSCHED_ENABLE_WERROR=OFF",
            f"-DCMAKE_PROJECT_CommSched_INCLUDE={alone}")

    def make(self, tests):
        targets = {target for test in tests for target in self._targets(test)}
        self._run("ninja", "-C", self.build, f"-j{self.jobs}",
                  *sorted(targets))

    def _targets(self, test):
        kind, name = test.split()[:2]
        if kind == "unit":
            return [f"CommSched{name}Tests"]
        if kind == "pytest":
            return ["commsched-opt", "commsched_native"]
        path = self.tree / "test" / name
        text = "".join(file.read_text() for file in path.rglob("*.*")) \
            if path.is_dir() else path.read_text()
        return [program for program in PROGRAMS if program in text]


# -- tests -------------------------------------------------------------------


class Tester:
    """Runs tests on the copy."""

    def __init__(self, builder):
        self._tree, self._build = builder.tree, builder.build
        self._python = ROOT / ".venv/bin/python"
        if not self._python.exists():
            raise Failure(f"no {self._python}: scripts/test.sh makes it, and "
                          "installs what else is needed")
        site = builder.tree.parent / "site"
        site.mkdir(exist_ok=True)
        # An editable install of the package comes before PYTHONPATH.
        (site / "sitecustomize.py").write_text(
            "import sys\n"
            "sys.meta_path[:] = [\n"
            "    finder for finder in sys.meta_path\n"
            "    if not type(finder).__name__.startswith('ScikitBuild')]\n")
        #: By test that passes without a mutation: how long it may take.
        self.limits = {}
        self._compiled = builder.tree.parent / "compiled"
        self._environment = {
            **builder.environment,
            "COMMSCHED_OPT": str(self._build / "bin/commsched-opt"),
            "PATH": f"{self._build / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{site}:{self._tree / 'python'}",
            # What a fault made must not be found by other programs, and two
            # versions of a file within a second are told apart by no date.
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(self._compiled),
        }

    def run(self, test):
        """Returns whether all passed, which test failed, and the seconds."""
        kind, name, *rest = test.split()
        shutil.rmtree(self._compiled, ignore_errors=True)
        begin = time.monotonic()
        code, output = self._call(getattr(self, f"_{kind}")(name, *rest),
                                  self.limits.get(test, LIMIT))
        seconds = time.monotonic() - begin
        if code is None:
            return False, f"{test} (by time)", seconds
        if code:
            return False, self._find_failed(kind, test, output), seconds
        if not re.search(
                r"\[  PASSED  \] [1-9]|^PASS: |[1-9]\d* passed", output,
                re.MULTILINE) or re.search(r"\d skipped", output):
            raise Failure(f"'{test}' ran nothing:\n{output.strip()}")
        return True, None, seconds

    def _unit(self, name, pattern):
        return [self._build / f"unittests/{name}/CommSched{name}Tests",
                f"--gtest_filter={pattern}", "--gtest_fail_fast"]

    def _lit(self, name):
        cache = (self._build / "CMakeCache.txt").read_text()
        lit = re.search(r"^LLVM_EXTERNAL_LIT:\w+=(.*)$", cache, re.MULTILINE)
        return [self._python, lit[1], "-v", "--max-failures=1",
                self._build / "test" / name]

    def _pytest(self, *names):
        return [self._python, "-m", "pytest", "-q", "-x", "-rfE", "-p",
                "no:cacheprovider", *(f"python/tests/{n}" for n in names)]

    def _call(self, command, limit):
        process = subprocess.Popen(
            [str(word) for word in command], cwd=self._tree,
            env=self._environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (MEMORY, MEMORY)))
        try:
            output, _ = process.communicate(timeout=limit)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            # Also what the test started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @staticmethod
    def _find_failed(kind, test, output):
        patterns = {
            "unit": (r"^\[  FAILED  \] ([^\s,]+)", r"^\[ RUN      \] (\S+)"),
            "lit": (r"^(?:FAIL|TIMEOUT|UNRESOLVED): CommSched :: (\S+)",),
            "pytest": (r"^(?:FAILED|ERROR) python/tests/(\S+)",),
        }
        for pattern in patterns[kind]:
            # A program that crashes does so in the test that it began last.
            if found := re.findall(pattern, output, re.MULTILINE):
                return found[-1]
        raise Failure(f"'{test}' failed without naming a test:\n"
                      f"{output.strip()[-2000:]}")


# -- results -----------------------------------------------------------------


class Results:
    """What is known of mutations of these sources, in a file."""

    def __init__(self, path, sources):
        self._path, self._sources = path, sources
        self._known = {}
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(path.read_text())
            if known["sources"] == sources:
                self._known = known["results"]

    @staticmethod
    def _key(mutation):
        fields = (mutation.file, mutation.old, mutation.new, mutation.tests)
        return hashlib.sha256(repr(fields).encode()).hexdigest()

    def get(self, mutation):
        return self._known.get(self._key(mutation))

    def forget(self, mutations):
        for mutation in mutations:
            self._known.pop(self._key(mutation), None)

    def set(self, mutation, failed, seconds):
        self._known[self._key(mutation)] = {
            "failed": failed, "seconds": seconds}
        self._path.write_text(json.dumps(
            {"sources": self._sources, "results": self._known}, indent=1))


def try_mutation(builder, tester, mutation):
    """Returns which test fails, or None, and the seconds until then."""
    total = 0.0
    with mutated(builder.tree, mutation):
        for test in mutation.tests:
            if is_compiled(mutation):
                builder.make([test])
            passed, failed, seconds = tester.run(test)
            total += seconds
            if not passed:
                return failed, total
    return None, total


def describe(number, mutation):
    return f"{number:3} {mutation.area:10} {mutation.words}"


def run(mutations, builder, tester, results, is_random):
    """Finds out what is not known of these mutations, by number. A random one
    need not compile."""
    todo = {number: mutation for number, mutation in mutations.items()
            if results.get(mutation) is None}
    tests = sorted({test for m in todo.values() for test in m.tests})
    if tests:
        print(f"building, and running {len(tests)} tests without a mutation",
              flush=True)
        builder.configure()
        builder.make(tests)
    for test in tests:
        passed, failed, seconds = tester.run(test)
        if not passed:
            raise Failure(f"{failed} fails without any mutation")
        tester.limits[test] = 10 + TIMES * seconds
    problems = []
    for number, mutation in todo.items():
        print(describe(number, mutation), end=" ", flush=True)
        try:
            failed, seconds = try_mutation(builder, tester, mutation)
        except Failure as error:
            if not is_random or not isinstance(error, BuildFailure):
                problems.append(f"mutation {number}: {error}")
                print("... cannot be tried", flush=True)
                continue
            failed, seconds = COMPILER, 0.0
        results.set(mutation, failed, seconds)
        print(f"... {failed or 'NOT FOUND'} ({seconds:.1f} s)", flush=True)
    if problems:
        raise Failure("\n".join(problems))


def write_table(path, results):
    """Writes the page of all results."""
    missing = [number for number, mutation in enumerate(MUTATIONS, 1)
               if results.get(mutation) is None]
    if missing:
        raise Failure(f"{path} is not written: nothing is known yet of "
                      f"mutation {', '.join(map(str, missing))}")
    head = call_git("describe", "--always", "--abbrev=8",
                    "--dirty= and later changes")
    Path(path).write_text(format_page(results, head))


# -- command line ------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true",
                        help="list the mutations and their tests")
    parser.add_argument("--check", action="store_true",
                        help="check that each text occurs once in its file")
    parser.add_argument("--only", metavar="NUMBERS",
                        help="make these only, such as 3,7-9")
    parser.add_argument("--random", metavar="NUMBER", type=int,
                        help="make so many that are drawn at random")
    parser.add_argument("--seed", type=int, default=1,
                        help="what --random draws from (default: 1)")
    parser.add_argument("--again", action="store_true",
                        help="also make those whose result is known")
    parser.add_argument("--table", metavar="FILE",
                        help="write all results as Markdown")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants",
                        help="where the copy is (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="processors to build with (default: all)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    check()
    if arguments.check:
        print(f"{len(MUTATIONS)} mutations fit the sources")
        return 0
    if arguments.jobs < 1:
        raise Failure(f"--jobs is {arguments.jobs}, but at least 1 is needed")
    mutations = MUTATIONS
    if arguments.random:
        mutations = draw(ROOT, arguments.random, arguments.seed)
        print(f"{len(mutations)} mutations drawn from seed {arguments.seed}")
    count = len(mutations)
    numbers = parse_numbers(arguments.only, count) if arguments.only \
        else range(1, count + 1)
    chosen = {number: mutations[number - 1] for number in sorted(numbers)}
    if arguments.list:
        for number, mutation in chosen.items():
            print(describe(number, mutation))
            print(f"    {mutation.file}: {'; '.join(mutation.tests)}")
        return 0
    folder = arguments.folder.resolve()
    builder = Builder(folder, arguments.jobs, [*MUTATIONS, *mutations])
    sources = copy_sources(builder.tree)
    results = Results(folder / "results.json", sources)
    if arguments.again:
        results.forget(chosen.values())
    run(chosen, builder, Tester(builder), results, bool(arguments.random))
    if arguments.table:
        write_table(arguments.table, results)
    failed = {number: results.get(mutation)["failed"]
              for number, mutation in chosen.items()}
    if found := list(failed.values()).count(COMPILER):
        print(f"{found} of {len(chosen)} do not compile")
    survivors = [number for number in chosen if failed[number] is None]
    if survivors:
        print(f"no test fails for {len(survivors)} of {len(chosen)}: "
              f"{', '.join(map(str, survivors))}", file=sys.stderr)
        return 1
    print(f"a test fails for each of {len(chosen)} mutations")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on from here",
              file=sys.stderr)
        sys.exit(130)
