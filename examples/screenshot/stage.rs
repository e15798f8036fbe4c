//! A terminal that runs ralph, every frame shown on it, and a recording of its output.

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Condvar, Mutex};
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use ralph_state::store::recording::TerminalRecording;
use tempfile::TempDir;

use crate::svg::Frame;

/// At most one frame in this time is kept.
const WHILE: Duration = Duration::from_millis(200);
/// Timeout for waits that take long only if something does not work.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    film: Arc<(Mutex<Film>, Condvar)>,
    /// The home directory of the demo's user; deleted on drop.
    _home: TempDir,
}

struct Film {
    parser: vt100::Parser,
    start: Instant,
    frames: Vec<Frame>,
    ended: bool,
}

impl Stage {
    /// Starts the demo of `ralph`, and records it in the file `cast`.
    pub fn open(ralph: &Path, cols: u16, rows: u16, cast: &Path) -> Stage {
        let home = tempfile::tempdir().expect("a home");
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(ralph);
        command.args(["demo", "--theme", "dark"]);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for name in ["HOME", "TMPDIR"] {
            command.env(name, home.path());
        }
        for (name, value) in [
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
        ] {
            command.env(name, value);
        }
        command.cwd(home.path());
        let child = pair.slave.spawn_command(command).expect("ralph");
        let reader = pair.master.try_clone_reader().expect("its output");
        let keyboard = pair.master.take_writer().expect("its input");
        let positive = |number| NonZeroU16::new(number).expect("a size");
        let film = Film {
            parser: vt100::Parser::new(positive(rows), positive(cols), 0),
            start: Instant::now(),
            frames: Vec::new(),
            ended: false,
        };
        let film = Arc::new((Mutex::new(film), Condvar::new()));
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970");
        let recording = TerminalRecording::create(cast, (cols, rows), since.as_secs(), false, u64::MAX);
        let recording = recording.expect("a file for the recording");
        let filming = Arc::clone(&film);
        // The terminal stays open as long as its reader.
        let master = pair.master;
        thread::spawn(move || {
            shoot(reader, recording, &filming);
            drop(master);
        });
        Stage {
            child,
            keyboard,
            film,
            _home: home,
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a keyboard");
    }

    /// Waits until `wanted` is shown.
    pub fn wait_for(&self, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut film = self.film.0.lock();
        while !film.parser.screen().contents().contains(wanted) {
            assert!(
                !film.ended && Instant::now() < deadline,
                "`{wanted}`: {}",
                film.parser.screen().contents()
            );
            self.film.1.wait_for(&mut film, Duration::from_secs(1));
        }
    }

    /// Waits for the end of the program, and returns all frames.
    pub fn close(mut self) -> Vec<Frame> {
        self.child.wait().expect("ralph's end");
        let mut film = self.film.0.lock();
        while !film.ended {
            self.film.1.wait(&mut film);
        }
        sparse(std::mem::take(&mut film.frames))
    }
}

/// The last frame of each interval of `WHILE`.
fn sparse(frames: Vec<Frame>) -> Vec<Frame> {
    let mut kept: Vec<Frame> = Vec::new();
    for frame in frames {
        let beginning = |frame: &Frame| frame.at.as_millis() / WHILE.as_millis();
        if kept.last().is_some_and(|last| beginning(last) == beginning(&frame)) {
            kept.pop();
        }
        kept.push(frame);
    }
    kept
}

/// Keeps every frame that ralph has completed, while it uses the alternate screen.
fn shoot(mut reader: Box<dyn Read + Send>, mut recording: TerminalRecording, film: &(Mutex<Film>, Condvar)) {
    const FINISHED: &[u8] = b"\x1b[?2026l";
    let mut buffer = vec![0; 64 * 1024];
    let mut written = Vec::new();
    loop {
        let count = reader.read(&mut buffer).unwrap_or(0);
        recording.output(&buffer[..count]);
        recording.write_out();
        let mut now = film.0.lock();
        written.extend_from_slice(&buffer[..count]);
        while let Some(end) = written.windows(FINISHED.len()).position(|part| part == FINISHED) {
            let frame: Vec<u8> = written.drain(..end + FINISHED.len()).collect();
            now.parser.process(&frame);
            let screen = now.parser.screen().clone();
            if screen.alternate_screen() {
                let at = now.start.elapsed();
                now.frames.push(Frame { at, screen });
            }
        }
        now.ended = count == 0;
        drop(now);
        film.1.notify_all();
        if count == 0 {
            return;
        }
    }
}
