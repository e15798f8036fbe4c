//! A terminal, with its keyboard and its screen, for tests.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read, Write},
    num::NonZeroU16,
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nix::{
    fcntl::OFlag,
    sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr},
};
use parking_lot::{Condvar, Mutex};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};

use crate::harness::{Program, SOON, processes, wait::poll};

/// A program on a terminal of its own. Dropping it kills the program.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    shown: Arc<(Mutex<TerminalState>, Condvar)>,
}

struct TerminalState {
    parser: vt100::Parser,
    /// All output so far.
    bytes: Vec<u8>,
    ended: bool,
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn positive(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a size")
}

impl TerminalState {
    fn has(&self, text: &str) -> bool {
        self.parser.screen().contents().contains(text)
    }
}

impl Terminal {
    /// Starts `program` on a terminal of `cols` and `rows`.
    pub fn start(program: &Program, cols: u16, rows: u16) -> Terminal {
        let pair = native_pty_system().openpty(size(cols, rows)).expect("a terminal");
        let child = spawn(program, &*pair.slave);
        let reader = pair.master.try_clone_reader().expect("its output");
        let keyboard = pair.master.take_writer().expect("its input");
        let shown = Arc::new((
            Mutex::new(TerminalState {
                parser: vt100::Parser::new(positive(rows), positive(cols), 1_000),
                bytes: Vec::new(),
                ended: false,
            }),
            Condvar::new(),
        ));
        let reading = Arc::clone(&shown);
        thread::spawn(move || read(reader, &reading));
        Terminal {
            child,
            master: pair.master,
            keyboard,
            shown,
        }
    }

    /// Starts `program` on a terminal that is closed once `wanted` is written. Returns the program.
    pub fn closed_after(program: &Program, wanted: &str) -> Box<dyn Child + Send + Sync> {
        let pair = native_pty_system().openpty(size(100, 30)).expect("a terminal");
        let child = spawn(program, &*pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        let end = Instant::now() + SOON;
        while !String::from_utf8_lossy(&bytes).contains(wanted) {
            assert!(
                Instant::now() < end,
                "no `{wanted}` in {}",
                String::from_utf8_lossy(&bytes)
            );
            let count = reader.read(&mut buffer).expect("a terminal");
            bytes.extend_from_slice(&buffer[..count]);
        }
        child
    }

    pub fn pid(&self) -> i32 {
        let pid = self.child.process_id().expect("a process");
        pid.cast_signed()
    }

    /// Presses keys, as the bytes a terminal sends for them.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a keyboard");
        self.keyboard.flush().expect("a keyboard");
    }

    /// Presses `keys` until `wanted` is shown. A shell that takes a signal just before it begins to read runs its trap
    /// only at the next one.
    #[track_caller]
    pub fn press_until(&mut self, keys: &str, wanted: &str) {
        let deadline = Instant::now() + SOON;
        loop {
            self.press(keys);
            if self.becomes(Instant::now() + Duration::from_secs(1), |shown| shown.has(wanted)) {
                return;
            }
            assert!(Instant::now() < deadline, "no `{wanted}`; {}", self.described());
        }
    }

    pub fn resize(&self, cols: u16, rows: u16) {
        self.shown.0.lock().parser.set_size(positive(rows), positive(cols));
        self.master.resize(size(cols, rows)).expect("a new size");
    }

    /// Ends raw mode, as a shell does when its job was stopped.
    pub fn end_raw_mode(&self) {
        let path = self.master.tty_name().expect("a terminal with a name");
        let device = File::options()
            .read(true)
            .custom_flags(OFlag::O_NOCTTY.bits())
            .open(path);
        let device = device.expect("a terminal");
        let mut modes = tcgetattr(&device).expect("the modes of a terminal");
        modes.local_flags |= LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        tcsetattr(&device, SetArg::TCSANOW, &modes).expect("new modes");
    }

    /// The visible text, row by row.
    pub fn text(&self) -> String {
        self.shown.0.lock().parser.screen().contents()
    }

    /// All output so far, including sequences.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.shown.0.lock().bytes).into_owned()
    }

    /// Whether the program uses the alternate screen.
    pub fn on_other_screen(&self) -> bool {
        self.shown.0.lock().parser.screen().alternate_screen()
    }

    /// Waits until `wanted` is shown.
    #[track_caller]
    pub fn sees(&self, wanted: &str) {
        self.waits(&format!("`{wanted}` on the screen"), |shown| shown.has(wanted));
    }

    /// Waits until `unwanted` is no longer shown.
    #[track_caller]
    pub fn sees_no(&self, unwanted: &str) {
        self.waits(&format!("a screen without `{unwanted}`"), |shown| !shown.has(unwanted));
    }

    /// Waits until `wanted` appears in the output after the first `since` bytes.
    #[track_caller]
    pub fn writes(&self, wanted: &str, since: usize) {
        self.waits(&format!("`{}` written", wanted.escape_debug()), |shown| {
            let bytes = &shown.bytes[since.min(shown.bytes.len())..];
            bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes())
        });
    }

    /// Waits until the program is stopped, as by Ctrl-Z.
    #[track_caller]
    pub fn is_stopped(&self) {
        let stopped = poll(SOON, || processes::is_stopped(self.pid()).then_some(()));
        assert!(stopped.is_some(), "the program is not stopped; {}", self.described());
    }

    /// Waits for the program's end; returns its exit code.
    #[track_caller]
    pub fn ends(&mut self) -> u32 {
        let status = poll(SOON, || self.child.try_wait().expect("the state of a child"));
        let Some(status) = status else {
            panic!("no end; {}", self.described())
        };
        self.waits("the end of the output", |shown| shown.ended);
        status.exit_code()
    }

    #[track_caller]
    fn waits(&self, what: &str, condition: impl Fn(&TerminalState) -> bool) {
        if !self.becomes(Instant::now() + SOON, condition) {
            panic!("no {what}; {}", self.described());
        }
    }

    /// Whether `condition` holds before `deadline`.
    fn becomes(&self, deadline: Instant, condition: impl Fn(&TerminalState) -> bool) -> bool {
        let mut shown = self.shown.0.lock();
        while !condition(&shown) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || shown.ended {
                return false;
            }
            self.shown.1.wait_for(&mut shown, left);
        }
        true
    }

    fn described(&self) -> String {
        let mut text = "the screen:\n".to_owned();
        for line in self.text().lines() {
            writeln!(text, "  {line}").expect("a string takes all");
        }
        text
    }
}

fn spawn(program: &Program, slave: &dyn SlavePty) -> Box<dyn Child + Send + Sync> {
    let command = program.command();
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    for (name, value) in command.get_envs() {
        builder.env(name, value.expect("set, not removed"));
    }
    builder.cwd(command.get_current_dir().expect("a directory"));
    slave.spawn_command(builder).expect("a program")
}

impl Drop for Terminal {
    fn drop(&mut self) {
        _ = self.child.kill(); // it may have ended
        _ = self.child.wait();
    }
}

fn read(mut reader: Box<dyn Read + Send>, shown: &(Mutex<TerminalState>, Condvar)) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = reader.read(&mut buffer).unwrap_or(0);
        let mut now = shown.0.lock();
        if count == 0 {
            now.ended = true;
        } else {
            now.parser.process(&buffer[..count]);
            now.bytes.extend_from_slice(&buffer[..count]);
        }
        drop(now);
        shown.1.notify_all();
        if count == 0 {
            return;
        }
    }
}
