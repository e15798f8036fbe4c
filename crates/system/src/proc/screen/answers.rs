//! Answers to the queries that programs send to their terminal.

use vt100::{Callbacks, MouseProtocolEncoding, MouseProtocolMode, Screen};

/// Most bytes of answers that wait to be typed; further answers are dropped if the program does not read.
const CAP_BYTES: usize = 64 * 1024;

/// The reported colours, as 16-bit channels: light grey on near black.
const FOREGROUND: [u16; 3] = [0xd4d4, 0xd4d4, 0xd4d4];
const BACKGROUND: [u16; 3] = [0x1212, 0x1212, 0x1212];

/// The reported size of a cell in pixels, for programs that ask: ralph draws none.
const CELL_PIXELS: (u32, u32) = (8, 16);

#[derive(Debug, Default)]
pub(super) struct TerminalReplies {
    replies: Vec<u8>,
}

impl TerminalReplies {
    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    pub(super) fn reply(&mut self, bytes: &[u8]) {
        if self.replies.len() + bytes.len() <= CAP_BYTES {
            self.replies.extend_from_slice(bytes);
        }
    }

    fn device_status(&mut self, screen: &Screen, private: bool, request: u16) {
        let mark = if private { "?" } else { "" };
        match request {
            5 if !private => self.reply(b"\x1b[0n"),
            6 => {
                let (row, col) = screen.cursor_position();
                // A cursor that waits to wrap is one column outside.
                let col = (col + 1).min(screen.size().1.get());
                self.reply(format!("\x1b[{mark}{};{col}R", row + 1).as_bytes());
            }
            _ => {}
        }
    }

    fn window_report(&mut self, screen: &Screen, request: u16) {
        let (rows, cols) = screen.size();
        let (width, height) = CELL_PIXELS;
        match request {
            14 => {
                let (height, width) = (height * u32::from(rows.get()), width * u32::from(cols.get()));
                self.reply(format!("\x1b[4;{height};{width}t").as_bytes());
            }
            16 => self.reply(format!("\x1b[6;{height};{width}t").as_bytes()),
            18 => self.reply(format!("\x1b[8;{rows};{cols}t").as_bytes()),
            _ => {}
        }
    }
}

impl Callbacks for TerminalReplies {
    fn unhandled_csi(&mut self, screen: &mut Screen, i1: Option<u8>, i2: Option<u8>, params: &[&[u16]], c: char) {
        let first = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (i1, i2, c) {
            (None, None, 'n') => self.device_status(screen, false, first),
            (Some(b'?'), None, 'n') => self.device_status(screen, true, first),
            // A VT220 with colours: programs read this as "answers end here, and nothing exotic".
            (None, None, 'c') if first == 0 => self.reply(b"\x1b[?62;22c"),
            (Some(b'>'), None, 'c') if first == 0 => self.reply(b"\x1b[>1;10;0c"),
            (Some(b'>'), None, 'q') if first == 0 => {
                self.reply(concat!("\x1bP>|ralph ", env!("CARGO_PKG_VERSION"), "\x1b\\").as_bytes());
            }
            // No keyboard enhancement is in effect.
            (Some(b'?'), None, 'u') => self.reply(b"\x1b[?0u"),
            (Some(b'?'), Some(b'$'), 'p') => {
                self.reply(format!("\x1b[?{first};{}$y", private_mode(screen, first)).as_bytes());
            }
            (Some(b'$'), None, 'p') => self.reply(format!("\x1b[{first};0$y").as_bytes()),
            (None, None, 't') => self.window_report(screen, first),
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        match params {
            [b"10" | b"12", b"?", ..] => {
                let which = String::from_utf8_lossy(params[0]).into_owned();
                self.reply(format!("\x1b]{which};{}\x1b\\", rgb(FOREGROUND)).as_bytes());
            }
            [b"11", b"?", ..] => self.reply(format!("\x1b]11;{}\x1b\\", rgb(BACKGROUND)).as_bytes()),
            [b"4", colours @ ..] => {
                for pair in colours.chunks_exact(2) {
                    let index = std::str::from_utf8(pair[0])
                        .ok()
                        .and_then(|text| text.parse::<u8>().ok());
                    if let (Some(index), b"?") = (index, pair[1]) {
                        self.reply(format!("\x1b]4;{index};{}\x1b\\", rgb(palette(index))).as_bytes());
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns a private mode as DECRQM reports it: 1 set, 2 reset, 0 not known.
fn private_mode(screen: &Screen, mode: u16) -> u8 {
    let set = match mode {
        1 => screen.application_cursor(),
        25 => !screen.hide_cursor(),
        47 | 1047 | 1049 => screen.alternate_screen(),
        9 => screen.mouse_protocol_mode() == MouseProtocolMode::Press,
        1000 => screen.mouse_protocol_mode() == MouseProtocolMode::PressRelease,
        1002 => screen.mouse_protocol_mode() == MouseProtocolMode::ButtonMotion,
        1003 => screen.mouse_protocol_mode() == MouseProtocolMode::AnyMotion,
        1005 => screen.mouse_protocol_encoding() == MouseProtocolEncoding::Utf8,
        1006 => screen.mouse_protocol_encoding() == MouseProtocolEncoding::Sgr,
        2004 => screen.bracketed_paste(),
        _ => return 0,
    };
    if set { 1 } else { 2 }
}

fn rgb([red, green, blue]: [u16; 3]) -> String {
    format!("rgb:{red:04x}/{green:04x}/{blue:04x}")
}

/// Returns a colour of the usual 256, with xterm's values.
fn palette(index: u8) -> [u16; 3] {
    const BASE: [[u8; 3]; 16] = [
        [0, 0, 0],
        [205, 0, 0],
        [0, 205, 0],
        [205, 205, 0],
        [0, 0, 238],
        [205, 0, 205],
        [0, 205, 205],
        [229, 229, 229],
        [127, 127, 127],
        [255, 0, 0],
        [0, 255, 0],
        [255, 255, 0],
        [92, 92, 255],
        [255, 0, 255],
        [0, 255, 255],
        [255, 255, 255],
    ];
    let step = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    let eight_bit = match index {
        0..=15 => BASE[usize::from(index)],
        16..=231 => {
            let index = index - 16;
            [step(index / 36), step(index / 6 % 6), step(index % 6)]
        }
        232..=255 => [8 + 10 * (index - 232); 3],
    };
    eight_bit.map(|channel| u16::from(channel) * 0x101)
}
