use ralph_core::testing::{Dice, rounds};
use vt100::Parser;

use crate::proc::{
    Size,
    screen::{Screen, Scrollback},
};

const SIZE: Size = Size { cols: 20, rows: 5 };

fn screen_after(output: &str) -> Screen {
    let mut screen = Screen::new(SIZE, Scrollback::Cells(100));
    screen.process(output.as_bytes());
    screen
}

/// Everything that a program can see or go on with.
fn state(screen: &Screen) -> String {
    screen.vt().state_formatted() + &screen.modes.regions.map(|region| format!("{region:?}")).concat()
}

#[track_caller]
fn assert_shows(output: &str, rows: &[&str]) {
    let screen = screen_after(output);
    let mut shown: Vec<String> = screen
        .vt()
        .rows(0, SIZE.cols)
        .map(|row| row.trim_end().to_owned())
        .collect();
    shown.truncate(rows.len());
    assert_eq!(shown, rows, "{}", output.escape_debug());
}

#[test]
fn frames_are_drawn_with_lines() {
    let table = "_`abcdefghijklmnopqrstuvwxyz{|}~";
    for select in ["\x1b(0", "\x1b)0\x0e", "\x1b*0\x1bn", "\x1b+0\x1bo"] {
        let screen = screen_after(&format!("{select}{table} A"));
        let shown: String = screen.vt().rows(0, SIZE.cols).collect();
        assert_eq!(shown, " ◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£· A", "{select:?}");
    }
    assert_shows("\x1b(0lqk\x1b(Bq", &["┌─┐q"]);
    assert_shows("\x1b)0q\x0eq\x0fq", &["q─q"]);
    // A single shift is for one character.
    assert_shows("\x1b*0\x1b+0\x1bNqq\x1bOqq", &["─q─q"]);
    assert_shows("\x1b(0\x1b7\x1b(Bq\x1b8q", &["─"]);
    assert_shows("\x1b(0日q\x1b[3b", &["日────"]);
}

#[test]
fn the_cursor_goes_where_every_terminal_moves_it() {
    assert_shows("ab\x1bDcd", &["ab", "  cd"]);
    assert_shows("ab\x1bEcd", &["ab", "cd"]);
    assert_shows("ab\x1b[s\x1b[10Cfar\x1b[uRE", &["abRE        far"]);
    assert_shows("a\x1b[3ab", &["a   b"]);
    assert_shows("a\x1b[2eb\x1b[2Ac", &["a c", "", " b"]);
    assert_shows("a\x1b[Ib\x1b[2Zc\x1b[2Id", &["c       b       d"]);
    assert_shows("\x1b[999999999Ix\x1b[999999999Zy", &["y                  x"]);
}

#[test]
fn tab_stops_are_where_they_were_set() {
    assert_shows("\x1b[5G\x1bH\r\ta\tb", &["    a   b"]);
    assert_shows("\x1b[9G\x1b[g\r\ta", &["                a"]);
    assert_shows("\x1b[3g\x1b[4G\x1bH\r\ta\tb", &["   a               b"]);
    assert_shows("\x1b[3g\x1bc\ta", &["        a"]);
    assert_shows("\x1b[3g\x1b[!p\ta", &["                   a"]);
}

#[test]
fn text_is_inserted_and_stays_in_its_row_if_a_program_wants_it() {
    assert_shows("abc\x1b[2D\x1b[4hX日\x1b[4lY", &["aX日Yc"]);
    assert_shows("\x1b[?7labcdefghijklmnopqrstuvwxyz\x1b[?7h", &["abcdefghijklmnopqrsz"]);
    assert_shows("\x1b[?7labcdefghijklmnopqrs日", &["abcdefghijklmnopqr日"]);
    assert_shows("a\x1b[20hb\nc\x1b[20l\nd", &["ab", "c", " d"]);
}

#[test]
fn a_cursor_that_waits_to_wrap_is_in_the_last_column_for_what_moves_or_edits() {
    let row = "abcdefghijklmnopqrst";
    assert_shows(&format!("{row}\x08x"), &["abcdefghijklmnopqrxt"]);
    assert_shows(&format!("{row}\x1b[Dx"), &["abcdefghijklmnopqrxt"]);
    assert_shows(&format!("{row}\x1b[Px"), &["abcdefghijklmnopqrsx"]);
    assert_shows(&format!("{row}\nx"), &[row, "                   x"]);
    assert_shows(&format!("{row}\tx"), &[row, "x"]);
    // grep and compilers write this behind every match.
    assert_shows(&format!("{row}\x1b[m\x1b[Kx"), &[row, "x"]);
    // It goes on waiting on the other screen, and after it.
    assert_shows(&format!("{row}\x1b[?1049hx"), &["", "x"]);
    assert_shows(&format!("{row}\x1b[?1049hx\x1b[?1049ly"), &[row, "y"]);
    assert_shows(&format!("{row}\x1b[?47hx\x1b[?47ly"), &[row, " y"]);
}

#[test]
fn margins_hold_the_cursor_and_what_scrolls() {
    let rows = "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r";
    assert_shows(&format!("{rows}x"), &["x", "2", "3", "4", "5"]);
    assert_shows(&format!("{rows}\x1b[5H\x1b[9Ax"), &["1", "x", "3", "4", "5"]);
    assert_shows(&format!("{rows}\x1b[9Bx"), &["1", "2", "3", "x", "5"]);
    assert_shows(&format!("{rows}\x1b[4H\x1bDx"), &["1", "3", "4", "x", "5"]);
    assert_shows(&format!("{rows}\x1b[2H\x1bMx"), &["1", "x", "2", "3", "5"]);
    assert_shows(&format!("{rows}\x1bM\x1bMx"), &["x", "2", "3", "4", "5"]);
    assert_shows(&format!("{rows}\x1b[3;3H\x1b[Lx"), &["1", "2", "x", "3", "5"]);
    assert_shows(&format!("{rows}\x1b[?6h\x1b[2dx\x1b[9ey"), &["1", "2", "x", "4y", "5"]);
    // Neither half of an upside-down pair counts.
    assert_shows(&format!("{rows}\x1b[4;2r\x1b[4H\nx"), &["1", "3", "4", "x", "5"]);
}

#[test]
fn the_alternate_screen_has_the_cursor_of_the_other() {
    assert_shows("ab\x1b[?1049hc", &["  c"]);
    assert_shows("ab\x1b[?1049h\x1b[4;4Hc\x1b[?1049ld", &["abd"]);
    assert_shows("ab\x1b[?47h\x1b[3;3Hc\x1b[?47ld", &["ab", "", "   d"]);
    assert_shows("\x1b[?1047habc\x1b[?1047l\x1b[?47hd", &["   d"]);
    assert_shows("\x1b[?1048;25lab\x1b[?1048hcd\x1b[?1048le", &["abed"]);
    let screen = screen_after("\x1b[?1048;25l");
    assert!(screen.vt().hide_cursor());
}

#[test]
fn the_test_picture_fills_the_screen_and_colours_stay() {
    let screen = screen_after("\x1b[31;4m\x1b[2;3r\x1b#8x");
    let rows: Vec<String> = screen.vt().rows(0, SIZE.cols).collect();
    assert_eq!(rows[0], format!("x{}", "E".repeat(19)));
    assert!(rows[1..].iter().all(|row| *row == "E".repeat(20)));
    let cell = |col| screen.vt().cell(0, col).unwrap();
    assert_eq!(
        (cell(0).fgcolor(), cell(1).fgcolor()),
        (vt100::Color::Idx(1), vt100::Color::Default)
    );
    assert!(cell(0).underline() && !cell(1).underline());
}

#[test]
fn a_reset_ends_everything_that_was_set() {
    let set = "\x1b(0\x1b[4h\x1b[20h\x1b[?7l\x1b[?25l\x1b[2;4r\x1b[?6h\x1b[31m\x1b7";
    let text = "q\x1b[1;1Hab\x1b[Hc\nd";
    for reset in ["\x1bc", "\x1b[!p\x1b[20l\x1b[2J\x1b[H"] {
        let (mut used, mut fresh) = (screen_after(&format!("{set}{reset}")), screen_after(""));
        for screen in [&mut used, &mut fresh] {
            screen.process(text.as_bytes());
            screen.process("and more that wraps at the edge\x1b8e".as_bytes());
        }
        assert_eq!(state(&used), state(&fresh), "{reset:?}");
    }
}

#[test]
fn a_screen_that_is_rebuilt_or_gets_another_size_keeps_what_lasts() {
    let mut screen = screen_after("1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b(0\x1b[4H");
    screen.rebuild();
    screen.process(b"\nq");
    assert_eq!(screen.contents(), "1\n3\n4\n─\n5");
    screen.resize(Size { cols: 20, rows: 6 });
    screen.process(b"\x1b[6H\nq");
    assert_eq!(screen.contents(), "3\n4\n─\n5\n\n─", "margins end with the size");
}

#[test]
fn a_control_character_within_a_sequence_comes_first_and_two_of_them_end_it() {
    assert_shows("ab\x1b[1\x08Cc", &["abc"]);
    assert_shows("ab\x1b[1\x18Cc", &["abCc"]);
    assert_shows("ab\x1b]0;title\x1b[1DX", &["aX"]);
    assert_shows("\x1b(0q\x1b[1?2mq", &["──"]);
    assert_shows(
        &format!("a\x1b[{}1mb\x1b]0;{}\x07c", "0;".repeat(500), "t".repeat(5000)),
        &["abc"],
    );
}

/// The background of each cell of a row, a digit each, and a sign where a blank is underlined or inverse.
fn background(screen: &Screen, row: u16) -> String {
    let cell = |col| match screen.vt().cell(row, col).unwrap() {
        cell if !cell.has_contents() && (cell.underline() || cell.inverse()) => '!',
        cell => match cell.bgcolor() {
            vt100::Color::Idx(index) => char::from(b'0' + index),
            _ => '.',
        },
    };
    (0..SIZE.cols)
        .map(cell)
        .collect::<String>()
        .trim_end_matches('.')
        .to_owned()
}

#[test]
fn blanks_have_the_background_of_the_text_and_nothing_else() {
    let all = "4".repeat(20);
    for (output, rows) in [
        ("\x1b[4;7;44mab\x1b[K", [&*all, "", "", "", ""]),
        ("\x1b[4;7mab\x1b[J\x1b[Xc", ["", "", "", "", ""]),
        ("\x1b[44m\x1b[2J", [&*all; 5]),
        ("\x1b[44m\x1b[5H\r\n", ["", "", "", "", &*all]),
        ("\x1b[5H\x1b[44m\x1bD", ["", "", "", "", &*all]),
        ("\x1b[44m\x1bM", [&*all, "", "", "", ""]),
        ("\x1b[44m\x1b[2H\x1b[2L", ["", &*all, &*all, "", ""]),
        ("\x1b[44m\x1b[2H\x1b[2M", ["", "", "", &*all, &*all]),
        ("\x1b[44m\x1b[2;4r\x1b[9S", ["", &*all, &*all, &*all, ""]),
        ("\x1b[44m\x1b[2;4r\x1b[T", ["", &*all, "", "", ""]),
        ("\x1b[44m\x1b[3G\x1b[4@", ["..4444", "", "", "", ""]),
        ("\x1b[44m\x1b[3G\x1b[4P", ["................4444", "", "", "", ""]),
        ("\x1b[44m\x1b7\x1b[m\x1b8\x1b[K", [&*all, "", "", "", ""]),
        ("\x1b[44m\x1b[0m\x1b[K", ["", "", "", "", ""]),
    ] {
        let screen = screen_after(output);
        let shown = [0, 1, 2, 3, 4].map(|row| background(&screen, row));
        assert_eq!(shown, rows, "{}", output.escape_debug());
    }
    let screen = screen_after("\x1b[4;7;44mab\x1b[Kc");
    let cell = screen.vt().cell(0, 2).unwrap();
    assert!(cell.underline() && cell.inverse(), "what follows has its style");
}

#[test]
fn styles_that_vt100_would_take_for_others_are_those_that_it_knows() {
    for (style, known) in [
        ("4:3", "4"),
        ("4:0", "24"),
        ("1;21", "1;4"),
        ("58;5;1", ""),
        ("58;2;4;4;4;1", "1"),
        ("58:2::1:2:3;3", "3"),
        ("38;5;21;4:3", "38;5;21;4"),
        ("48;2;21;58;4", "48;2;21;58;4"),
        ("38:2::1:2:3", "38:2:1:2:3"),
        ("38:2:1:2:3;48:5:4", "38:2:1:2:3;48:5:4"),
    ] {
        let attributes = |style: &str| screen_after(&format!("\x1b[{style}m")).vt().attributes_formatted();
        let expected = if known.is_empty() {
            screen_after("").vt().attributes_formatted()
        } else {
            attributes(known)
        };
        assert_eq!(attributes(style), expected, "{style}");
        assert!(
            style == "4:0" || known.is_empty() || expected.len() > 3,
            "{style}: {expected:?}"
        );
    }
}

#[test]
fn no_function_costs_more_than_a_screenful() {
    let screenful = 8 * usize::from(SIZE.cols) * usize::from(SIZE.rows);
    for end in b'@'..=b'~' {
        for output in [
            format!("x\x1b[999999999;999999999{}", char::from(end)),
            format!("x\x1b[4h\x1b[?7l\x1b(0\x1b[3g\x1b[65535{}", char::from(end)),
            format!("x\x1b#8\x1b#{}", char::from(end)),
            format!("x\x1b[4;7;44m\x1b[65535{}", char::from(end)),
        ] {
            let mut screen = Screen::new(SIZE, Scrollback::NONE);
            screen.bytes_since = 0;
            screen.process(output.as_bytes());
            assert!(screen.bytes_since < screenful, "{output:?}: {}", screen.bytes_since);
        }
    }
}

/// Output with every function that is translated.
fn output(dice: &mut Dice) -> Vec<u8> {
    const PARTS: [&str; 35] = [
        "text ",
        "日本",
        "e\u{301}",
        "\r\n",
        "\n",
        "\t",
        "\x08",
        "\x0e",
        "\x0f",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1b7",
        "\x1b8",
        "\x1bD",
        "\x1bE",
        "\x1bM",
        "\x1bH",
        "\x1bN",
        "\x1b#8",
        "\x1b[!p",
        "\x1b[31;44m",
        "\x1b[4;7m",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[?6h",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?47h",
        "\x1b[?47l",
        "\x1b]0;t\x07",
        "\x1b[1\x08",
        "\x1b[1?m",
    ];
    let mut output = Vec::new();
    for _ in 0..dice.index(14) {
        match dice.index(4) {
            0 | 1 => output.extend(PARTS[dice.index(PARTS.len())].bytes()),
            2 => output.extend(std::iter::repeat_n(b'a' + dice.index(26) as u8, dice.index(25))),
            _ => {
                let end = b"@ABCDEFGHIJKLMPSTXZ`abdefgrsu"[dice.index(29)];
                output.extend(format!("\x1b[{};{}{}", dice.index(8), dice.index(8), char::from(end)).bytes());
            }
        }
    }
    output
}

#[test]
fn output_cut_anywhere_is_the_same_screen() {
    let mut dice = Dice::new(0x7e57_0f1a_55e5);
    for _ in 0..rounds(150) {
        let output = output(&mut dice);
        let in_pieces = |pieces: &[&[u8]]| {
            let mut screen = Screen::new(SIZE, Scrollback::Cells(100));
            pieces.iter().for_each(|piece| screen.process(piece));
            screen
        };
        let whole = in_pieces(&[&output]);
        if whole.rebuilds() > 0 {
            continue;
        }
        let free = SIZE.cols.saturating_sub(whole.vt().cursor_position().1);
        assert!(whole.modes.free <= free, "{}", output.escape_ascii());
        let bytes: Vec<&[u8]> = output.chunks(1).collect();
        assert_eq!(state(&in_pieces(&bytes)), state(&whole), "{}", output.escape_ascii());
        for cut in 1..output.len() {
            let cut_once = in_pieces(&[&output[..cut], &output[cut..]]);
            assert_eq!(
                state(&cut_once),
                state(&whole),
                "{} cut at {cut}",
                output.escape_ascii()
            );
        }
    }
}

#[test]
fn what_vt100_knows_reaches_it_as_it_was_written() {
    let mut dice = Dice::new(0x0a5c_e55e);
    for _ in 0..rounds(300) {
        const PARTS: [&str; 12] = [
            "text ",
            "日本語",
            "e\u{301}",
            "\r\n",
            "\x1b[1;31m",
            "\x1b[m",
            "\x1b[38;5;9m",
            "\x1b[3;4H",
            "\x1b[2K",
            "\x1b[J",
            "\x1b]0;title\x07",
            "\x1b[?25l",
        ];
        let output: String = (0..dice.index(200)).map(|_| PARTS[dice.index(PARTS.len())]).collect();
        let screen = screen_after(&output);
        let size = |cells| std::num::NonZeroU16::new(cells).unwrap();
        let mut alone = Parser::new(size(SIZE.rows), size(SIZE.cols), 100);
        alone.process(output.as_bytes());
        assert_eq!(
            screen.vt().state_formatted(),
            alone.screen().state_formatted(),
            "{output:?}"
        );
    }
}

#[test]
fn the_smallest_screens_take_all_output() {
    let mut dice = Dice::new(0x0001_c011);
    for _ in 0..rounds(200) {
        for (cols, rows) in [(2, 2), (2, 3), (3, 2)] {
            let mut screen = Screen::new(Size { cols, rows }, Scrollback::NONE);
            screen.process("\x1b[?7l\x1b[4h日本\x1b[2P\x1b[2@".as_bytes());
            for _ in 0..10 {
                screen.process(&output(&mut dice));
            }
            assert!(screen.vt().cursor_position().1 <= cols);
        }
    }
}
