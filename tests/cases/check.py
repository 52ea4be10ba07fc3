"""check.py GPUHIST DIR [--only GLOB]… [--every N] [--alone N] [--types]: holds what gpuhist says of the files of make.py against truth.json.

The files are measured together, three times, then each alone, with memory that is filled by other patterns: the same numbers
must come. Those that are damaged are measured with --on-damaged accept, too, twice: the same numbers, whatever they are.
Standard error must hold gpuhist's own lines alone. Faults are printed, and make the exit code 1.
"""
import argparse
import concurrent.futures
import csv
import fnmatch
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

MOST_WORK = 20  # seconds of a processor: no case holds more than some thousand pixels, whatever its header claims
PATTERNS = ('0', '85', '170')  # of MALLOC_PERTURB_


class Run:
    """One call of gpuhist: rows[name][channel] of stats.csv, errors[name] of errors.csv."""

    def __init__(self, program, folder, names, pattern, options=()):
        def limit_work():
            if len(names) == 1:
                resource.setrlimit(resource.RLIMIT_CPU, (MOST_WORK, MOST_WORK))
        environment = {**os.environ, 'MALLOC_PERTURB_': pattern}
        with tempfile.TemporaryDirectory() as out:
            command = [program, '-q', '--engine', 'cpu', '--write', 'stats', '-o', out, *options, '--', *names]
            run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600,
                                 preexec_fn=limit_work)
            self.code = run.returncode
            self.lines = run.stderr.decode(errors='replace').splitlines()
            self.rows, self.errors, self.columns = {}, {}, []
            for row in self.table(out, 'stats.csv'):
                self.rows.setdefault(row.pop('path'), {})[row['channel']] = row
            for row in self.table(out, 'errors.csv'):
                self.errors[row['path']] = row
            if len(names) == 1 and not self.errors:  # a single file has no errors.csv
                for line in self.lines:
                    if line.startswith(f'gpuhist: {names[0]}: '):
                        self.errors[names[0]] = {'kind': '', 'message': line[len(f'gpuhist: {names[0]}: '):]}

    def table(self, out, name):
        path = os.path.join(out, name)
        if not os.path.exists(path):
            return []
        with open(path, newline='', errors='replace') as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            if name == 'stats.csv':
                self.columns = reader.fieldnames
            return rows

    def said_of(self, name):
        return self.rows.get(name), self.errors.get(name)

    def words_of(self, name):
        """What must be the same every time."""
        return self.rows.get(name), self.errors.get(name, {}).get('message')


def differences(truth, rows, columns):
    """What is wrong in the rows of a file."""
    if set(rows) != set(truth['rows']):
        yield f'rows {" ".join(rows)}, not {" ".join(truth["rows"])}'
        return
    for channel, want in truth['rows'].items():
        got = rows[channel]
        for key in ('pixels', 'min', 'max', 'mean'):
            tolerance = want.get('near', 1e-12 * max(1, abs(want[key])))
            if not got[key] or not abs(float(got[key]) - want[key]) <= tolerance:
                yield f'{channel}: {key} {got[key]}, not {want[key]!r}'
                break
        for key in ('width', 'height', 'depth'):
            if key in truth and got[key] != str(truth[key]):
                yield f'{channel}: {key} {got[key]}, not {truth[key]}'
        if 'white' in truth and 'white' in columns and channel != 'alpha' and (not got['white'] or float(got['white']) != truth['white']):
            yield f'{channel}: white {got["white"]!r}, not {truth["white"]}'
    if 'alpha' in truth and 'alpha' in columns and rows['alpha']['alpha'] != truth['alpha']:
        yield f'alpha {rows["alpha"]["alpha"]!r}, not {truth["alpha"]}'


def faults(name, truth, rows, error, columns, types):
    """What is wrong in what was said of a file: rows or an error."""
    if (rows is None) == (error is None):
        yield 'rows and an error' if rows else 'neither rows nor an error'
    elif rows:
        if 'error' in truth:
            numbers = ', '.join(f'{row["channel"]} {row["mean"]}' for row in rows.values())
            yield f'measured ({numbers}), but it must be refused: {" or ".join(truth["error"])}'
        else:
            yield from itertools.islice(differences(truth, rows, columns), 1)
    else:
        kind, message = error['kind'], error['message']
        if 'error' in truth:
            if kind not in truth['error']:
                yield f'refused as {kind}, not as {" or ".join(truth["error"])}: {message}'
            elif not re.search(truth.get('says', ''), message, re.IGNORECASE):
                yield f'the message does not say /{truth["says"]}/: {message}'
        elif kind not in truth.get('may_refuse', []) and not (kind == 'unsupported' and truth.get('later') and not types):
            yield f'refused as {kind}: {message}'


def missing_formats(program, folder, names):
    """Extensions of the optional formats that this build refuses."""
    missing = []
    for extension in ('.gif', '.avif', '.jxl'):
        name = next((name for name in names if name.endswith(extension)), None)
        if name:
            done = subprocess.run([program, name, '-q', '--write', 'none'], cwd=folder, capture_output=True)
            if b'is not read by this build' in done.stderr:
                missing.append(extension)
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('folder')
    parser.add_argument('--only', action='append', metavar='GLOB', help='only these files; repeatable')
    parser.add_argument('--alone', type=int, default=1, metavar='N', help='only every N-th file alone, too; 0: none (to start the program takes long)')
    parser.add_argument('--every', type=int, default=1, metavar='N', help='only every N-th file: for slow programs, such as with sanitizers')
    parser.add_argument('--types', action='store_true', help='types and numbers of channels that are to come (`later`) must be right, too')
    arguments = parser.parse_args()

    with open(os.path.join(arguments.folder, 'truth.json')) as file:
        truth = json.load(file)
    names = [name for name in sorted(truth) if not arguments.only or any(fnmatch.fnmatch(name, glob) for glob in arguments.only)]
    names = [name for name in names[::arguments.every] if not name.endswith(tuple(missing_formats(arguments.program, arguments.folder, names)))]
    if not names:
        sys.exit('no case has such a name')
    found = {}  # (name, fault): a set that keeps its order

    def fault(name, text):
        found.setdefault((name, text), None)

    def measure(some, pattern, *options):
        return Run(arguments.program, arguments.folder, some, pattern, options)

    together = [measure(names, pattern) for pattern in PATTERNS]
    singles = [name for i, name in enumerate(names) if arguments.alone and (i % arguments.alone == 0 or '_claims' in name)]  # claims may cost time
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {name: pool.submit(measure, [name], PATTERNS[1 + i % 2], '--threads', '1') for i, name in enumerate(singles)}
        alone = {name: job.result() for name, job in jobs.items()}
    broken = [name for name in names if 'error' in truth[name]]
    accepted = [measure(broken, pattern, '--on-damaged', 'accept') for pattern in PATTERNS[1:]] if broken else []
    columns = next((run.columns for run in together if run.columns), [])
    for column in ('white', 'alpha'):
        if column not in columns:
            fault('stats.csv', f'no column {column}: not compared')

    noise = [line for run in together + accepted for line in run.lines if not line.startswith('gpuhist')]
    if noise:
        fault('standard error', f'{len(noise)} lines are not gpuhist\'s, such as: {noise[0]}')
    for run in accepted:
        if run.code not in (0, 1):
            fault('--on-damaged accept', f'exit code {run.code}' + ''.join(': ' + line for line in run.lines[:1]))
    for name in broken:
        first, second = (run.said_of(name) for run in accepted)
        if first != second:
            fault(name, f'with --on-damaged accept not the same every time: {summary(first)}; again: {summary(second)}')
    for name in names:
        first = together[0].said_of(name)
        for text in faults(name, truth[name], *first, columns, arguments.types):
            fault(name, text)
        single = alone.get(name)
        for run in together[1:] + ([single] if single else []):
            if run.words_of(name) != together[0].words_of(name):
                how = 'alone' if run is single else 'again'
                fault(name, f'not the same every time: {summary(first)}; {how}: {summary(run.said_of(name))}')
                break
        if not single:
            continue
        wanted = 1 if single.errors else 0
        if single.code != wanted:
            worked = f' after {MOST_WORK} s of work' if single.code in (-signal.SIGXCPU, -signal.SIGKILL) else ''
            fault(name, f'exit code {single.code}{worked}, not {wanted}' + ''.join(': ' + line for line in single.lines[-1:]))
        for line in single.lines:
            if not line.startswith('gpuhist'):
                fault(name, f'on standard error: {line}')
                break
        if single.errors and not any(name in line for line in single.lines):
            fault(name, 'standard error does not name the file')

    paged = [name for name in names if 'pages' in truth[name]]
    runs = [measure(paged, pattern, '--pages', 'all') for pattern in PATTERNS[:2]] if paged else []
    for name in paged:
        pages = truth[name]['pages']
        for number, page in enumerate(pages, 1):
            called = f'{name}#{number}'
            for text in faults(called, page, *runs[0].said_of(called), columns, arguments.types):
                fault(called, text)
            if runs[0].words_of(called) != runs[1].words_of(called):
                fault(called, 'not the same every time')
        if any(runs[0].said_of(f'{name}#{len(pages) + 1}')):
            fault(name, f'more pages than {len(pages)}')
        counts = {row['pages'] for run in (together[0], runs[0]) for path, rows in run.rows.items() if path.rpartition('#')[0] == name or path == name for row in rows.values()}
        if counts and counts != {str(len(pages))}:
            fault(name, f'pages {" ".join(sorted(counts))}, not {len(pages)}')

    for name, text in found:
        print(f'{name}: {text}')
    print(f'{len(names)} cases, {len(found)} faults in {len({name for name, _ in found})} of them')
    sys.exit(bool(found))


def summary(said):
    rows, error = said
    return f'{error["kind"]}: {error["message"]}' if error else ' '.join(f'{c} {r["mean"]}' for c, r in (rows or {}).items())


if __name__ == '__main__':
    main()
