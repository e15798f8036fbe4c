//! Encodes keys as a terminal sends them to its program. Pure.

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use vt100::{MouseProtocolEncoding, MouseProtocolMode};

/// Encodes `input` for the program whose screen is `vt`, shown at `pane`. Empty for events that the program has not
/// requested.
pub(super) fn bytes(input: &Input, vt: &vt100::Screen, pane: Rect) -> Vec<u8> {
    match input {
        Input::Key(key) => key_bytes(*key, vt.application_cursor()),
        Input::Paste(text) if vt.bracketed_paste() => {
            // An end-of-paste marker in the text would end the protection by the bracketed paste.
            let text = text.replace("\x1b[201~", "");
            format!("\x1b[200~{text}\x1b[201~").into_bytes()
        }
        Input::Paste(text) => text.replace("\r\n", "\r").replace('\n', "\r").into_bytes(),
        Input::Mouse(mouse) => mouse_bytes(*mouse, vt, pane),
        Input::Resize(..) | Input::FocusGained | Input::FocusLost => Vec::new(),
    }
}

fn key_bytes(key: KeyEvent, application_cursor: bool) -> Vec<u8> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let mut bytes = match key.code {
        KeyCode::Char(character) if control => match control_byte(character) {
            Some(byte) => vec![byte],
            None => character.to_string().into_bytes(),
        },
        KeyCode::Char(character) => character.to_string().into_bytes(),
        KeyCode::Enter => vec![b'\r'],
        KeyCode::Tab => vec![b'\t'],
        KeyCode::BackTab => b"\x1b[Z".to_vec(),
        KeyCode::Backspace => vec![0x7f],
        KeyCode::Esc => vec![0x1b],
        KeyCode::Null => vec![0],
        _ => return special(key, application_cursor),
    };
    if alt {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn control_byte(character: char) -> Option<u8> {
    match character {
        'a'..='z' | 'A'..='Z' => Some(character.to_ascii_lowercase() as u8 - b'a' + 1),
        ' ' | '@' | '2' => Some(0),
        '[' | '3' => Some(0x1b),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' => Some(0x1e),
        '_' | '7' | '/' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    }
}

/// Cursor and function keys, with modifiers encoded as in xterm.
fn special(key: KeyEvent, application_cursor: bool) -> Vec<u8> {
    let bit = |modifier, value| if key.modifiers.contains(modifier) { value } else { 0 };
    let modifiers = 1 + bit(KeyModifiers::SHIFT, 1) + bit(KeyModifiers::ALT, 2) + bit(KeyModifiers::CONTROL, 4);
    let letter = |letter: char, application: bool| match (modifiers, application) {
        (1, true) => format!("\x1bO{letter}"),
        (1, false) => format!("\x1b[{letter}"),
        (modifiers, _) => format!("\x1b[1;{modifiers}{letter}"),
    };
    let number = |number: u8| match modifiers {
        1 => format!("\x1b[{number}~"),
        modifiers => format!("\x1b[{number};{modifiers}~"),
    };
    let text = match key.code {
        KeyCode::Up => letter('A', application_cursor),
        KeyCode::Down => letter('B', application_cursor),
        KeyCode::Right => letter('C', application_cursor),
        KeyCode::Left => letter('D', application_cursor),
        KeyCode::Home => letter('H', application_cursor),
        KeyCode::End => letter('F', application_cursor),
        KeyCode::Insert => number(2),
        KeyCode::Delete => number(3),
        KeyCode::PageUp => number(5),
        KeyCode::PageDown => number(6),
        KeyCode::F(1) => letter('P', true),
        KeyCode::F(2) => letter('Q', true),
        KeyCode::F(3) => letter('R', true),
        KeyCode::F(4) => letter('S', true),
        KeyCode::F(5) => number(15),
        KeyCode::F(function @ 6..=10) => number(11 + function),
        KeyCode::F(function @ 11..=12) => number(12 + function),
        _ => return Vec::new(),
    };
    text.into_bytes()
}

fn mouse_bytes(mouse: MouseEvent, vt: &vt100::Screen, pane: Rect) -> Vec<u8> {
    let inside = pane.contains(ratatui::layout::Position::new(mouse.column, mouse.row));
    if !inside {
        return Vec::new();
    }
    let mode = vt.mouse_protocol_mode();
    let (button, released) = match mouse.kind {
        MouseEventKind::Down(button) => (number(button), false),
        MouseEventKind::Up(button) => (number(button), true),
        MouseEventKind::Drag(button)
            if matches!(mode, MouseProtocolMode::ButtonMotion | MouseProtocolMode::AnyMotion) =>
        {
            (number(button) + 32, false)
        }
        MouseEventKind::Moved if mode == MouseProtocolMode::AnyMotion => (35, false),
        MouseEventKind::ScrollUp => (64, false),
        MouseEventKind::ScrollDown => (65, false),
        MouseEventKind::Drag(_) | MouseEventKind::Moved | MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => {
            return Vec::new();
        }
    };
    if mode == MouseProtocolMode::None {
        // On the alternate screen the wheel is sent as cursor keys, as terminals do.
        let arrow = match (button, vt.alternate_screen()) {
            (64, true) => KeyCode::Up,
            (65, true) => KeyCode::Down,
            _ => return Vec::new(),
        };
        return key_bytes(KeyEvent::new(arrow, KeyModifiers::NONE), vt.application_cursor()).repeat(3);
    }
    let (column, row) = (mouse.column - pane.x + 1, mouse.row - pane.y + 1);
    match vt.mouse_protocol_encoding() {
        MouseProtocolEncoding::Sgr => {
            let end = if released { 'm' } else { 'M' };
            format!("\x1b[<{button};{column};{row}{end}").into_bytes()
        }
        MouseProtocolEncoding::Default | MouseProtocolEncoding::Utf8 => {
            let button = if released { 3 } else { button };
            let place = |at: u16| u8::try_from(at + 32).unwrap_or(u8::MAX);
            vec![0x1b, b'[', b'M', button + 32, place(column), place(row)]
        }
    }
}

fn number(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 0,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(code: KeyCode, modifiers: KeyModifiers, application: bool) -> String {
        let bytes = key_bytes(KeyEvent::new(code, modifiers), application);
        String::from_utf8(bytes).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn keys_are_what_xterm_sends() {
        let none = KeyModifiers::NONE;
        let table = [
            (KeyCode::Char('ü'), none, false, "ü"),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, false, "\x03"),
            (KeyCode::Char('x'), KeyModifiers::ALT, false, "^x"),
            (KeyCode::Enter, none, false, "\r"),
            (KeyCode::Up, none, false, "^[A"),
            (KeyCode::Up, none, true, "^OA"),
            (KeyCode::Up, KeyModifiers::CONTROL, true, "^[1;5A"),
            (KeyCode::Delete, KeyModifiers::SHIFT, false, "^[3;2~"),
            (KeyCode::F(5), none, false, "^[15~"),
            (KeyCode::F(6), none, false, "^[17~"),
            (KeyCode::F(10), none, false, "^[21~"),
            (KeyCode::F(12), none, false, "^[24~"),
            (KeyCode::Backspace, none, false, "\x7f"),
        ];
        for (code, modifiers, application, expected) in table {
            assert_eq!(typed(code, modifiers, application), expected, "{code:?}");
        }
    }

    #[test]
    fn a_paste_is_marked_where_the_program_asked_for_it_and_cannot_end_itself() {
        let size = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new(size(4), size(10), 0);
        let paste = Input::Paste("a\nb\x1b[201~c".to_owned());
        assert_eq!(bytes(&paste, parser.screen(), Rect::default()), b"a\rb\x1b[201~c");
        parser.process(b"\x1b[?2004h");
        assert_eq!(
            bytes(&paste, parser.screen(), Rect::default()),
            b"\x1b[200~a\nbc\x1b[201~"
        );
    }

    #[test]
    fn the_mouse_is_told_where_the_pane_is_and_only_to_who_asked() {
        let size = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new(size(10), size(10), 0);
        let wheel = Input::Mouse(MouseEvent {
            kind: MouseEventKind::ScrollUp,
            column: 12,
            row: 5,
            modifiers: KeyModifiers::NONE,
        });
        let pane = Rect::new(10, 4, 10, 10);
        assert!(bytes(&wheel, parser.screen(), pane).is_empty());
        parser.process(b"\x1b[?1000h\x1b[?1006h");
        assert_eq!(bytes(&wheel, parser.screen(), pane), b"\x1b[<64;3;2M");
        assert!(bytes(&wheel, parser.screen(), Rect::new(30, 0, 5, 5)).is_empty());
    }
}
