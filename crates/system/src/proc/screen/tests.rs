use ralph_core::testing::Dice;

use super::*;

const SIZE: Size = Size { cols: 80, rows: 24 };

fn screen_after(bytes: &[u8]) -> Screen {
    let mut screen = Screen::new(SIZE, Scrollback::Cells(100));
    screen.process(bytes);
    screen
}

fn replies_to(bytes: &[u8]) -> String {
    String::from_utf8(screen_after(bytes).take_replies())
        .unwrap()
        .replace('\x1b', "^")
}

#[test]
fn shows_text_where_it_was_written() {
    let screen = screen_after(b"one\r\ntwo\x1b[5;3Hfive");
    assert_eq!(screen.contents(), "one\ntwo\n\n\n  five");
}

#[test]
fn a_character_cut_anywhere_is_one_character() {
    for text in ["ä", "漢", "🦀", "e\u{301}"] {
        for cut in 0..=text.len() {
            let mut screen = Screen::new(SIZE, Scrollback::Cells(0));
            screen.process(&text.as_bytes()[..cut]);
            screen.process(&text.as_bytes()[cut..]);
            assert_eq!(screen.contents(), text);
        }
    }
}

#[test]
fn a_character_cut_in_two_costs_nothing_that_follows() {
    let text = "ü 日 ü\x1b[3C日";
    for cut in 0..=text.len() {
        let mut screen = Screen::new(SIZE, Scrollback::Cells(0));
        screen.process(&text.as_bytes()[..cut]);
        screen.process(&text.as_bytes()[cut..]);
        assert_eq!(screen.contents(), "ü 日 ü   日", "cut at {cut}");
    }
}

#[test]
fn a_size_that_vt100_cannot_take_becomes_two_by_two() {
    let mut screen = Screen::new(Size { cols: 0, rows: 1 }, Scrollback::Cells(0));
    assert_eq!(screen.size(), Size { cols: 2, rows: 2 });
    screen.resize(Size { cols: 1, rows: 0 });
    screen.process("漢字🦀".as_bytes());
    assert_eq!(screen.size(), Size { cols: 2, rows: 2 });
}

#[test]
fn rows_that_scroll_out_can_be_scrolled_back_to() {
    let mut screen = Screen::new(Size { cols: 10, rows: 2 }, Scrollback::Cells(10));
    screen.process(b"1\r\n2\r\n3\r\n4");
    assert_eq!(screen.contents(), "3\n4");
    screen.scroll_to(2);
    assert_eq!(screen.contents(), "1\n2");
}

#[test]
fn the_cursor_is_reported_where_it_is() {
    assert_eq!(replies_to(b"\x1b[3;7H\x1b[6n\x1b[?6n\x1b[5n"), "^[3;7R^[?3;7R^[0n");
    let full = [vec![b'x'; 80], b"\x1b[6n".to_vec()].concat();
    assert_eq!(replies_to(&full), "^[1;80R");
}

#[test]
fn devices_and_versions_are_answered() {
    assert_eq!(
        replies_to(b"\x1b[c\x1b[0c\x1b[>c\x1b[?u"),
        "^[?62;22c^[?62;22c^[>1;10;0c^[?0u"
    );
    assert_eq!(
        replies_to(b"\x1b[>0q"),
        format!("^P>|ralph {}^\\", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn colours_are_answered() {
    assert_eq!(replies_to(b"\x1b]11;?\x07"), "^]11;rgb:1212/1212/1212^\\");
    assert_eq!(replies_to(b"\x1b]10;?\x1b\\"), "^]10;rgb:d4d4/d4d4/d4d4^\\");
    assert_eq!(
        replies_to(b"\x1b]4;1;?;231;?;255;?\x1b\\"),
        "^]4;1;rgb:cdcd/0000/0000^\\^]4;231;rgb:ffff/ffff/ffff^\\^]4;255;rgb:eeee/eeee/eeee^\\"
    );
}

#[test]
fn modes_are_answered_as_they_are() {
    assert_eq!(
        replies_to(b"\x1b[?2004h\x1b[?2004$p\x1b[?25$p\x1b[?1049$p"),
        "^[?2004;1$y^[?25;1$y^[?1049;2$y"
    );
    assert_eq!(replies_to(b"\x1b[?2026$p\x1b[?7777$p"), "^[?2026;0$y^[?7777;0$y");
}

#[test]
fn sizes_are_answered() {
    assert_eq!(replies_to(b"\x1b[18t\x1b[14t"), "^[8;24;80t^[4;384;640t");
}

#[test]
fn capabilities_are_answered_in_the_order_of_the_questions() {
    // "Co", an unknown "zz", then the device.
    assert_eq!(
        replies_to(b"\x1b[5n\x1bP+q436f;7a7a\x1b\\\x1b[c"),
        "^[0n^P1+r436f=323536^\\^P0+r7a7a^\\^[?62;22c"
    );
}

#[test]
fn questions_cut_anywhere_are_answered_once() {
    let questions = b"\x1bP+q544e\x1b\\\x1b[6n\x1b]11;?\x1b\\\x1bP$qm\x1b\\";
    let whole = replies_to(questions);
    for cut in 0..=questions.len() {
        let mut screen = Screen::new(SIZE, Scrollback::Cells(0));
        screen.process(&questions[..cut]);
        screen.process(&questions[cut..]);
        assert_eq!(
            String::from_utf8(screen.take_replies()).unwrap().replace('\x1b', "^"),
            whole
        );
        assert!(screen.take_replies().is_empty());
    }
}

#[test]
fn clipboard_titles_and_strange_strings_are_swallowed() {
    let screen = screen_after(b"a\x1b]52;c;?\x07\x1b]0;title\x07\x1b]1337;x\x07\x1b_G\x1b\\\x1b[>4;?mb");
    assert_eq!(screen.contents(), "ab");
    assert_eq!(replies_to(b"\x1b]52;c;?\x07\x1b]0;title\x07\x1b]99;x\x07"), "");
}

#[test]
fn answers_that_nobody_takes_are_bounded() {
    let mut screen = Screen::new(SIZE, Scrollback::Cells(0));
    for _ in 0..100_000 {
        screen.process(b"\x1b[6n");
    }
    assert!(screen.take_replies().len() <= 64 * 1024);
}

#[test]
fn a_rebuilt_screen_shows_what_was_there() {
    let mut screen = Screen::new(Size { cols: 20, rows: 3 }, Scrollback::Cells(10));
    screen.process(b"1\r\n2\r\n\x1b[31m3\x1b[m\r\n4\r\n5\x1b[?2004h\x1b[1;2H");
    screen.rebuild();
    assert_eq!(screen.rebuilds(), 1);
    assert_eq!(screen.contents(), "3\n4\n5");
    assert_eq!(screen.vt().cell(0, 0).unwrap().fgcolor(), vt100::Color::Idx(1));
    assert_eq!(screen.vt().cursor_position(), (0, 1));
    assert!(screen.vt().bracketed_paste());
    screen.scroll_to(2);
    assert_eq!(screen.contents(), "1\n2\n3");
}

#[test]
fn a_caught_panic_is_silent_and_others_are_not() {
    assert_eq!(quietly(|| 1), Some(1));
    assert_eq!(quietly(|| -> u8 { panic!("seen by nobody") }), None);
    assert!(!QUIET.get());
}

/// Tokens that terminals handle badly, and that agents really write.
fn token(dice: &mut Dice, out: &mut Vec<u8>) {
    match dice.roll(12) {
        0 => out.extend("漢字".bytes()),
        1 => out.extend("👩\u{200d}💻❤\u{fe0f}".bytes()),
        2 => out.extend(format!("\x1b[{};{}H", dice.roll(30), dice.roll(140)).bytes()),
        3 => {
            let end = b"ABCDEFGHIJKLMPSTXZ@`abcdefhlmnrstqu"[dice.roll(35) as usize];
            let params = [dice.roll(70_000), dice.roll(200)];
            out.extend(format!("\x1b[{};{}{}", params[0], params[1], end as char).bytes());
        }
        4 => out.extend(
            format!(
                "\x1b[?{}{}",
                dice.roll(2100),
                ["h", "l", "J", "$p"][dice.roll(4) as usize]
            )
            .bytes(),
        ),
        5 => out.extend(format!("\x1b[{};{}r", dice.roll(30), dice.roll(30)).bytes()),
        6 => out.extend(b"\r\n"),
        7 => out.push(b'\t'),
        8 => out.extend(format!("\x1b]{};x\x07", dice.roll(140)).bytes()),
        9 => out.extend((0..dice.roll(40)).map(|_| dice.roll(256) as u8).collect::<Vec<_>>()),
        10 => out.extend([&b"\x1bP+q"[..], b"\x1b7", b"\x1b8", b"\x1bM", b"\x1bc", b"\x08"][dice.roll(6) as usize]),
        _ => out.extend(vec![b'w'; dice.roll(30) as usize]),
    }
}

#[test]
fn survives_whatever_is_written_to_it_at_any_size() {
    let mut dice = Dice::new(0x5eed_1234_abcd_0001);
    let mut rebuilds = 0;
    for _ in 0..120 {
        let size = |dice: &mut Dice| Size {
            cols: dice.roll(40) as u16,
            rows: dice.roll(12) as u16,
        };
        let mut screen = Screen::new(size(&mut dice), Scrollback::Cells(dice.index(50)));
        for _ in 0..30 {
            let mut bytes = Vec::new();
            for _ in 0..dice.roll(30) {
                token(&mut dice, &mut bytes);
            }
            screen.process(&bytes);
            match dice.roll(4) {
                0 => {
                    let size = size(&mut dice);
                    screen.resize(size);
                }
                1 => screen.scroll_to(dice.roll(60) as usize),
                2 => drop(screen.contents()),
                _ => drop(screen.take_replies()),
            }
            let (rows, cols) = screen.vt().size();
            assert_eq!((cols.get(), rows.get()), (screen.size().cols, screen.size().rows));
        }
        rebuilds += screen.rebuilds();
        // The screen still works: text written now is shown.
        screen.process(b"\x1bc\x1b[?7hok");
        assert!(screen.contents().starts_with("ok"), "{:?}", screen.contents());
    }
    // This test is about catching panics: without a single one it would prove nothing.
    assert!(rebuilds > 0);
}

/// Text that scrolls a terminal, with styles, gaps, wide and joined characters, and long lines.
fn scrolling_text(dice: &mut Dice) -> String {
    const PIECES: [&str; 13] = [
        "word ",
        "漢字",
        "e\u{301}",
        "\t\t",
        "\x1b[31m",
        "\x1b[1;4;48;5;7m",
        "\x1b[38;2;1;2;3;7m",
        "\x1b[0m",
        "\x1b[K",
        "\x1b[3C",
        "long long long long long long",
        "\r\n",
        "\x1b[A\x1b[Lin between",
    ];
    (0..dice.index(60))
        .map(|_| {
            if dice.index(2) == 0 {
                "\r\n"
            } else {
                PIECES[dice.index(PIECES.len())]
            }
        })
        .collect()
}

/// Characters, style and line breaks of the rows in view. A blank may be a space or an empty cell.
fn cells(screen: &Screen) -> String {
    let Size { rows, cols } = screen.size();
    let mut seen = String::new();
    for row in 0..rows {
        for col in 0..cols {
            let cell = screen.shown().cell(row, col).expect("a cell");
            let contents = if cell.has_contents() { cell.contents() } else { " " };
            let flags = (
                cell.bold(),
                cell.italic(),
                cell.underline(),
                cell.inverse(),
                cell.is_wide(),
            );
            seen.push_str(&format!(
                "{contents:?}{:?}{:?}{flags:?}",
                cell.fgcolor(),
                cell.bgcolor()
            ));
        }
        seen.push_str(&format!("{}\n", screen.row_wraps(row)));
    }
    seen
}

#[test]
fn rows_that_became_text_look_as_they_did() {
    let mut dice = Dice::new(0x51f1_5eed_0f0f_1234);
    for round in 0..8 {
        let size = Size {
            cols: 12 + dice.index(30) as u16,
            rows: 2 + dice.index(12) as u16,
        };
        let mut plain = Screen::new(size, Scrollback::Cells(3_000));
        let mut kept = Screen::new(size, Scrollback::Text(3_000));
        for _ in 0..60 {
            let text = scrolling_text(&mut dice);
            for screen in [&mut plain, &mut kept] {
                screen.process(text.as_bytes());
            }
            assert_eq!(kept.scrollback_len(), plain.scrollback_len(), "round {round}");
            assert_eq!(kept.scrollback(), plain.scrollback(), "round {round}");
            assert!(cells(&kept) == cells(&plain), "round {round}, followed");
            if dice.index(4) == 0 {
                let rows = dice.index(plain.scrollback_len() + 2);
                for screen in [&mut plain, &mut kept] {
                    screen.scroll_to(rows);
                }
                assert!(cells(&kept) == cells(&plain), "round {round}, {rows} rows up");
            }
        }
        assert!(kept.backlog.len() > 0, "round {round} was too short");
        assert_eq!(kept.rebuilds(), 0);
    }
}

#[test]
fn of_rows_as_text_the_oldest_are_forgotten_and_the_view_stays() {
    let mut screen = Screen::new(Size { cols: 10, rows: 2 }, Scrollback::Text(1_000));
    let line = |n: usize| format!("{n}\r\n");
    screen.process((0..600).map(line).collect::<String>().as_bytes());
    screen.scroll_to(usize::MAX);
    assert_eq!(screen.contents(), "0\n1");
    screen.process((600..900).map(line).collect::<String>().as_bytes());
    assert_eq!(screen.contents(), "0\n1");
    screen.process((900..9_000).map(line).collect::<String>().as_bytes());
    let rows = screen.scrollback_len();
    assert_eq!(screen.scrollback(), rows, "what was looked at is gone");
    assert!((1_000..1_000 + ROWS_AT_ONCE + PIECE_BYTES).contains(&rows));
    assert_eq!(screen.contents(), format!("{}\n{}", 8_999 - rows, 9_000 - rows));
}

#[test]
fn a_history_that_the_agent_erases_is_gone() {
    let mut screen = Screen::new(Size { cols: 10, rows: 2 }, Scrollback::Text(10_000));
    screen.process("line\r\n".repeat(5_000).as_bytes());
    screen.scroll_to(usize::MAX);
    screen.process(b"\x1b[2J\x1b[3J\x1b[Hnew");
    assert_eq!((screen.scrollback_len(), screen.scrollback()), (0, 0));
    assert_eq!(screen.contents(), "new");
}

#[test]
fn rows_as_text_of_a_wider_time_are_cut_and_not_broken() {
    let mut screen = Screen::new(Size { cols: 12, rows: 2 }, Scrollback::Text(10_000));
    screen.process("abcdefghijkl\r\n".repeat(2_000).as_bytes());
    screen.resize(Size { cols: 5, rows: 2 });
    screen.scroll_to(usize::MAX);
    let rows: Vec<String> = screen.shown().rows(0, 5).collect();
    assert_eq!(rows, ["abcde", "abcde"]);
}
