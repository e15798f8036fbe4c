//! A ralph on a terminal, with a simulated user who presses keys and reads the screen.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{Read, Write},
    num::NonZeroU16,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Time limit that is reached only if something does not work.
const PATIENCE: Duration = Duration::from_secs(300);

pub const COLS: u16 = 120;
pub const ROWS: u16 = 44;

/// Processor time by thread, in nanoseconds.
pub struct Cpu(BTreeMap<OsString, u64>);

impl Cpu {
    /// Returns the time since `before`, without threads that have ended in the meantime.
    pub fn since(&self, before: &Cpu) -> Duration {
        let used = |(thread, time): (&OsString, &u64)| time.saturating_sub(before.0.get(thread).copied().unwrap_or(0));
        Duration::from_nanos(self.0.iter().map(used).sum())
    }
}

pub struct Screen {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Keyboard,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    // Closing it would send a hang-up to the program.
    _master: Box<dyn MasterPty + Send>,
}

type Keyboard = Arc<Mutex<Box<dyn Write + Send>>>;

struct Seen {
    parser: vt100::Parser,
    /// Number of drawn frames: each begins with the same sequence.
    frames: u64,
    bytes: u64,
    ended: bool,
}

impl Screen {
    pub fn start(command: &Command) -> Screen {
        let size = PtySize {
            rows: ROWS,
            cols: COLS,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            builder.env(name, value.expect("set, not removed"));
        }
        builder.env("LANG", "C.UTF-8");
        builder.cwd(command.get_current_dir().expect("a directory"));
        let child = pair.slave.spawn_command(builder).expect("a program");
        let reader = pair.master.try_clone_reader().expect("its output");
        let keyboard = Arc::new(Mutex::new(pair.master.take_writer().expect("its input")));
        let positive = |number| NonZeroU16::new(number).expect("a size");
        let seen = Arc::new((
            Mutex::new(Seen {
                parser: vt100::Parser::new(positive(ROWS), positive(COLS), 0),
                frames: 0,
                bytes: 0,
                ended: false,
            }),
            Condvar::new(),
        ));
        let (reading, answering) = (Arc::clone(&seen), Arc::clone(&keyboard));
        thread::spawn(move || read(reader, &reading, &answering));
        Screen {
            child,
            keyboard,
            seen,
            _master: pair.master,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    pub fn press(&mut self, keys: &str) {
        write(&self.keyboard, keys);
    }

    /// Waits until `wanted` is shown, or until it is not; returns the time.
    pub fn wait_for(&self, wanted: &str, shown: bool) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock();
        while seen.parser.screen().contents().contains(wanted) != shown {
            assert!(
                !seen.ended && Instant::now() < deadline,
                "`{wanted}`: {}",
                seen.parser.screen().contents()
            );
            self.seen.1.wait_for(&mut seen, Duration::from_secs(1));
        }
        Instant::now()
    }

    /// Returns the text on the screen.
    pub fn contents(&self) -> String {
        self.seen.0.lock().parser.screen().contents()
    }

    /// Returns the time that `key` takes to make `wanted` appear or disappear.
    pub fn latency(&mut self, key: &str, wanted: &str, shown: bool) -> Duration {
        let pressed = Instant::now();
        self.press(key);
        self.wait_for(wanted, shown) - pressed
    }

    /// Returns the frames and bytes so far.
    pub fn drawn(&self) -> (u64, u64) {
        let seen = self.seen.0.lock();
        (seen.frames, seen.bytes)
    }

    /// Returns the children of ralph's screen: its loop, and the guard of its helpers.
    fn children(&self) -> Vec<u32> {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Returns the processor time so far of each thread of ralph, in the screen and in its loop.
    pub fn cpu(&self) -> Cpu {
        let processes = self.children().into_iter().chain([self.pid()]);
        let threads = processes.filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
        let times = threads.flatten().flatten().filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            Some((thread.file_name(), text.split(' ').next()?.parse().ok()?))
        });
        Cpu(times.collect())
    }

    /// Returns the resident memory, in bytes.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The loop would outlive its screen; the guards of its agents end the rest.
        for child in self.children() {
            let pid = nix::unistd::Pid::from_raw(child.cast_signed());
            _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL); // it may have ended
        }
        _ = self.child.kill(); // it may have ended
        _ = self.child.wait();
    }
}

fn write(keyboard: &Keyboard, keys: &str) {
    let mut keyboard = keyboard.lock();
    keyboard.write_all(keys.as_bytes()).expect("a keyboard");
}

fn read(mut reader: Box<dyn Read + Send>, seen: &(Mutex<Seen>, Condvar), keyboard: &Keyboard) {
    const FRAME: &[u8] = b"\x1b[?2026h";
    // Answers queries for the background colour and the terminal type at once.
    const QUESTION: &[u8] = b"\x1b]11;?";
    const ANSWER: &str = "\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c";
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = reader.read(&mut buffer).unwrap_or(0);
        let mut now = seen.0.lock();
        if count == 0 {
            now.ended = true;
        }
        let bytes = &buffer[..count];
        if bytes.windows(QUESTION.len()).any(|window| window == QUESTION) {
            write(keyboard, ANSWER);
        }
        now.parser.process(bytes);
        now.bytes += count as u64;
        now.frames += bytes.windows(FRAME.len()).filter(|window| *window == FRAME).count() as u64;
        drop(now);
        seen.1.notify_all();
        if count == 0 {
            return;
        }
    }
}
