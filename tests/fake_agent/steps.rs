//! The steps of a script.

use std::{
    env, fs,
    io::{self, BufRead, Read, Write},
    os::fd::AsFd,
    path::Path,
    process::{self, Command},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{SigSet, Signal, kill, killpg, raise},
    unistd::{dup2_stderr, dup2_stdin, dup2_stdout, getpgrp, getppid},
};

use crate::{Outcome, offspring, reach};

/// Polling interval for conditions that no event announces.
const LOOK: Duration = Duration::from_millis(2);

pub fn run(steps: &[String]) -> Outcome<()> {
    for step in steps {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        take(word, rest).map_err(|why| format!("`{step}`: {why}"))?;
    }
    Ok(())
}

fn take(word: &str, rest: &str) -> Outcome<()> {
    match word {
        "say" | "jsonl" => print(format!("{rest}\n").as_bytes()),
        "err" => writeln!(io::stderr(), "{rest}").map_err(text),
        "print" => print(unescape(rest).as_bytes()),
        "flood" => flood(number(rest)?, &mut |_, out| {
            out.extend_from_slice(&[&[b'f'; 79][..], b"\n"].concat())
        }),
        "flood-color" => flood(number(rest)?, &mut colour_line),
        "garbage" => garbage(number(rest)?),
        "long-line" => flood(number(rest)?, &mut |_, out| out.extend_from_slice(&[b'l'; 1024])),
        "size" => print(format!("{}\n", size()?).as_bytes()),
        "promise" => promise(),
        "close-output" => close_output(),
        "write" | "append" => write(word, rest),
        "tick" => tick(number(rest)?),
        "tick-next" => tick(1),
        "commit" => commit(rest),
        "done" => fs::write(".ralph-done", "").map_err(text),
        "save-prompt" => fs::write(rest, prompt()?).map_err(text),
        "cpu" => work(number(rest)?),
        "sleep" => {
            thread::sleep(Duration::from_millis(number(rest)?));
            Ok(())
        }
        "hang" => loop {
            thread::park();
        },
        "wait-file" => wait(|| Ok(Path::new(rest).exists())),
        "wait-size" => wait(|| Ok(size()? == rest)),
        "read-line" => {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map_err(text)?;
            print(format!("got {}\n", line.trim_end()).as_bytes())
        }
        "ignore-signals" => SigSet::all().thread_block().map_err(text),
        "log-signals" => on_signals(catchable(), rest.to_owned(), |path, signal| {
            // The log is renamed into place when complete: a log that exists has a line in it.
            let unfinished = format!("{path}.new");
            let log = fs::read_to_string(path).unwrap_or_default() + &format!("{signal}\n");
            _ = fs::write(&unfinished, log).and_then(|()| fs::rename(&unfinished, path));
        }),
        "exit-on" => {
            let (name, code) = rest.split_once(' ').ok_or("a signal and a code, please")?;
            let signals = SigSet::from_iter([signal(name)?]);
            on_signals(signals, number::<i32>(code)?, |code, _| process::exit(*code))
        }
        "exit" => process::exit(number(rest)?),
        "kill-self" => raise(signal(rest)?).map_err(text),
        "kill-parent" => kill(getppid(), signal(rest)?).map_err(text),
        "kill-group" => killpg(getpgrp(), signal(rest)?).map_err(text),
        "reach" => {
            let (way, to) = rest.split_once(' ').unwrap_or((rest, ""));
            reach::reach(way, to)
        }
        "spawn" => offspring::spawn(rest),
        _ => Err("no such step".to_owned()),
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn number<N: std::str::FromStr>(word: &str) -> Outcome<N> {
    word.trim().parse().map_err(|_| format!("`{word}` is not a number"))
}

fn signal(name: &str) -> Outcome<Signal> {
    name.parse().map_err(|_| format!("`{name}` is not a signal"))
}

fn print(bytes: &[u8]) -> Outcome<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(text)
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('e')) => out.push('\x1b'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

/// Writes exactly `bytes` bytes of the lines that `line` appends, in large pieces.
fn flood(bytes: usize, line: &mut dyn FnMut(usize, &mut Vec<u8>)) -> Outcome<()> {
    let mut stdout = io::stdout().lock();
    let (mut written, mut lines) = (0, 0);
    let mut piece = Vec::new();
    while written < bytes {
        piece.clear();
        while piece.len() < 64 * 1024 {
            line(lines, &mut piece);
            lines += 1;
        }
        piece.truncate(bytes - written);
        stdout.write_all(&piece).map_err(text)?;
        written += piece.len();
    }
    stdout.flush().map_err(text)
}

fn colour_line(number: usize, out: &mut Vec<u8>) {
    let (red, green) = (number % 256, number / 7 % 256);
    let line = match number % 4 {
        0 => format!("\x1b[38;2;{red};{green};90m+ let answer_{number} = ask(\"why\");\x1b[0m\n"),
        1 => format!("\x1b[48;5;{red}m- let question = 42; // 漢字 🦀\x1b[0m\x1b[K\n"),
        2 => format!("\r\x1b[2K\x1b[1m⠹\x1b[22m working… {number}\r\x1b[2K\x1b[32m✓\x1b[39m step {number} done\n"),
        _ => format!("\x1b[2mtests/case_{number}.rs\x1b[0m \x1b[1;31mFAILED\x1b[0m in {green} ms\n"),
    };
    out.extend_from_slice(line.as_bytes());
}

/// Writes pseudo-random bytes, the same every time, that include broken UTF-8 and NULs.
fn garbage(bytes: usize) -> Outcome<()> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    flood(bytes, &mut |_, out| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
        out.extend_from_slice(b"\0\xff\xc3");
    })
}

fn size() -> Outcome<String> {
    let (cols, rows) = crossterm::terminal::size().map_err(text)?;
    Ok(format!("{cols}x{rows}"))
}

fn prompt() -> Outcome<Vec<u8>> {
    let mut prompt = Vec::new();
    io::stdin().lock().read_to_end(&mut prompt).map_err(text)?;
    Ok(prompt)
}

fn promise() -> Outcome<()> {
    let prompt = String::from_utf8_lossy(&prompt()?).into_owned();
    let start = prompt.find("<promise>").ok_or("no promise in the prompt")?;
    let length = prompt[start..]
        .find("</promise>")
        .ok_or("no end of the promise in the prompt")?;
    print(format!("{}</promise>\n", &prompt[start..start + length]).as_bytes())
}

fn close_output() -> Outcome<()> {
    let null = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(text)?;
    dup2_stdin(null.as_fd()).map_err(text)?;
    dup2_stdout(null.as_fd()).map_err(text)?;
    dup2_stderr(null.as_fd()).map_err(text)
}

fn write(word: &str, rest: &str) -> Outcome<()> {
    let (path, line) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut options = fs::OpenOptions::new();
    options.create(true).append(word == "append");
    if word == "write" {
        options.write(true).truncate(true);
    }
    options
        .open(path)
        .and_then(|mut file| writeln!(file, "{line}"))
        .map_err(text)
}

fn tick(nth: usize) -> Outcome<()> {
    let path = env::var("RALPH_PLAN").map_err(|_| "RALPH_PLAN is not set")?;
    let plan = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let open = plan
        .match_indices("- [ ]")
        .nth(nth.saturating_sub(1))
        .ok_or("no such open task")?
        .0;
    fs::write(&path, format!("{}- [x]{}", &plan[..open], &plan[open + 5..])).map_err(text)
}

fn commit(message: &str) -> Outcome<()> {
    let identity = ["-c", "user.name=fake-agent", "-c", "user.email=fake-agent@localhost"];
    for args in [
        &["add", "-A"][..],
        &["commit", "-q", "--no-gpg-sign", "-m", message][..],
    ] {
        let status = Command::new("git").args(identity).args(args).status().map_err(text)?;
        if !status.success() {
            return Err(format!("git {}: {status}", args[0]));
        }
    }
    Ok(())
}

fn work(ms: u64) -> Outcome<()> {
    let (start, clock) = (Instant::now(), cpu_time());
    let worked = || match (clock, cpu_time()) {
        (Some(before), Some(now)) => now - before,
        _ => start.elapsed(),
    };
    let mut sum = 0_u64;
    while worked() < Duration::from_millis(ms) {
        for _ in 0..10_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
    }
    Ok(())
}

/// Returns the time that this thread has spent on a CPU, if the system reports it.
fn cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn wait(mut there: impl FnMut() -> Outcome<bool>) -> Outcome<()> {
    while !there()? {
        thread::sleep(LOOK);
    }
    Ok(())
}

fn catchable() -> SigSet {
    [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGWINCH,
    ]
    .into_iter()
    .collect()
}

/// Runs `action` for every signal of the set, in a thread that waits for them. The signals have no other effect.
fn on_signals<T: Send + 'static>(signals: SigSet, with: T, action: fn(&T, Signal)) -> Outcome<()> {
    signals.thread_block().map_err(text)?;
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            action(&with, signal);
        }
    });
    Ok(())
}
