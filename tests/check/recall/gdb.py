#!/usr/bin/env python3
"""Does gdb show what the programs here say it shows?

For every program given (all *.c beside this file by default), every `// shows:` line and every build
in it: compile `CC -O? -g`, run gdb in batch mode to LINE of the file and print the variable. The visit
is the first hit of the breakpoint on that line; a trailing ` visit N` in the shows line means the N-th.
Then the same with gcc-12 -O0 and clang-19 -O0, where gdb must show the TRUE value. A pointer into an
object is compared by its symbol (`<cells+8>`), a char by its number, everything else by gdb's text.

  gdb.py [--quiet] [--sanitize] [FILE.c ...]     exit 0: all reproduce; 1: some do not; 2: unreadable
"""
import concurrent.futures, os, re, subprocess, sys, tempfile

SHOWS = re.compile(r'^// shows: (.+) line (\d+) expected (\S+) shown (\S+) in ((?:\S+:-O\S ?)+?)(?: visit (\d+))?$')


def command(build):
    cc, level = build.split(':')
    return [cc, level, '-g', '-w']


def value(text):
    """gdb's text of a value, without the character of a char and the address of a pointer."""
    symbol = re.search(r'(<[^<> ]+>)$', text)
    if symbol and text.startswith(('0x', '(')):
        return symbol.group(1)
    return re.sub(r"^(-?\d+) '.*'$", r'\1', text).replace(' ', '')


def shown(source, build, line, variable, visit, where):
    exe = os.path.join(where, '%s-%s' % (os.path.basename(source)[:-2], build.replace(':', '')))
    if not os.path.exists(exe):
        part = '%s.%d.%d' % (exe, os.getpid(), id(line) ^ hash((variable, visit, line)) & 0xffffff)
        subprocess.run(command(build) + ['-o', part, source, '-lm'], check=True)
        os.rename(part, exe)
    script = ['set confirm off', 'set debuginfod enabled off', 'set width 0', 'set style enabled off',
              'break %s:%d' % (os.path.basename(source), line)]
    if visit > 1:
        script.append('ignore 1 %d' % (visit - 1))
    script += ['run > /dev/null', 'frame', 'print ' + variable]
    args = ['gdb', '-q', '-nx', '-batch']
    for one in script:
        args += ['-ex', one]
    done = subprocess.run(args + [exe], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    stopped = re.findall(r'^(\d+)\t', done.stdout, re.M)
    if not stopped or int(stopped[-1]) != line:
        return '<not stopped at the line>'
    got = re.search(r'^\$1 = (.*)$', done.stdout, re.M)
    return value(got.group(1)) if got else '<no value: %s>' % done.stderr.strip()[-80:]


def check(source, where, sanitize):
    bad, good = [], 0
    name = os.path.basename(source)
    with open(source) as f:
        head = [x.rstrip() for x in f if x.startswith('//')]
    builds = [x.split()[2:] for x in head if x.startswith('// builds: ')]
    shows = [SHOWS.match(x) for x in head if x.startswith('// shows:')]
    if len(builds) != 1 or not 1 <= len(builds[0]) <= 6 or not shows or None in shows \
            or not any(x.startswith('// after: ') for x in head):
        return 0, ['%s: header not understood' % name]
    seen = set()
    for m in shows:
        variable, line, true, wrong = m.group(1), int(m.group(2)), m.group(3), m.group(4)
        visit = int(m.group(6) or 1)
        for build in m.group(5).split():
            seen.add(build)
            got = shown(source, build, line, variable, visit, where)
            if got == wrong:
                good += 1
            else:
                bad.append('%s: %s line %d visit %d in %s: gdb shows %s, not %s'
                           % (name, variable, line, visit, build, got, wrong))
        for build in ('gcc-12:-O0', 'clang-19:-O0'):
            got = shown(source, build, line, variable, visit, where)
            if got != true:
                bad.append('%s: %s line %d visit %d in %s: gdb shows %s, and %s is said to be true'
                           % (name, variable, line, visit, build, got, true))
    if seen != set(builds[0]):
        bad.append('%s: builds: and shows: name different builds' % name)
    if sanitize:
        for flags in (['-fsanitize=undefined,address'], ['-fsanitize=memory']):
            exe = os.path.join(where, name + '.san')
            subprocess.run(['clang-19', '-g', '-w', '-O0', '-fno-sanitize-recover=all'] + flags
                           + ['-o', exe, source, '-lm'], check=True)
            done = subprocess.run([exe], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
            if done.returncode:
                bad.append('%s: %s: exit %d %s' % (name, flags[0], done.returncode, done.stderr[:200]))
    return good, bad


def main():
    args = sys.argv[1:]
    quiet, sanitize = '--quiet' in args, '--sanitize' in args
    files = [a for a in args if not a.startswith('--')]
    if not files:
        here = os.path.dirname(os.path.abspath(__file__))
        files = sorted(os.path.join(here, f) for f in os.listdir(here) if f.endswith('.c'))
    total, wrong = 0, 0
    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for source, (good, bad) in zip(files, pool.map(lambda f: check(f, where, sanitize), files)):
            total += good
            wrong += len(bad)
            if not quiet or bad:
                print('%-40s %s' % (os.path.basename(source), 'ok, %d' % good if not bad else 'FAILS'), flush=True)
            for b in bad:
                print('  ' + b)
    print('%d programs, %d values shown wrong as said, %d complaints' % (len(files), total, wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
