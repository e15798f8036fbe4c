//! Chinese words of limits and times in English, whose grammar then reads them.

use std::borrow::Cow;

/// Words with their translations. A word that is a part of another one comes after it.
const WORDS: &[(&str, &str)] = &[
    ("北京时间", " Beijing time "),
    ("重置", " resets "),
    ("重設", " resets "),
    ("重设", " resets "),
    ("刷新", " resets "),
    ("恢复", " resets "),
    ("恢復", " resets "),
    ("重试", " try again "),
    ("重試", " try again "),
    ("再试", " try again "),
    ("再試", " try again "),
    ("限额", " limit "),
    ("限額", " limit "),
    ("限制", " limit "),
    ("额度", " limit "),
    ("額度", " limit "),
    ("配额", " limit "),
    ("上限", " limit "),
    ("窗口", " window "),
    ("每小时", " hourly "),
    ("每小時", " hourly "),
    ("每日", " daily "),
    ("每天", " daily "),
    ("每周", " weekly "),
    ("每週", " weekly "),
    ("每月", " monthly "),
    ("每", " every "),
    ("个小时", " h "),
    ("小时", " h "),
    ("小時", " h "),
    ("分钟", " min "),
    ("分鐘", " min "),
    ("星期", "周"),
    ("礼拜", "周"),
    ("週", "周"),
    ("周一", " Monday "),
    ("周二", " Tuesday "),
    ("周三", " Wednesday "),
    ("周四", " Thursday "),
    ("周五", " Friday "),
    ("周六", " Saturday "),
    ("周日", " Sunday "),
    ("周天", " Sunday "),
    ("今天", " today "),
    ("明天", " tomorrow "),
    ("天", " days "),
    ("上午", " am "),
    ("凌晨", " am "),
    ("早上", " am "),
    ("下午", " pm "),
    ("晚上", " pm "),
    ("之后", " later "),
    ("以后", " later "),
    ("后", " later "),
    ("後", " later "),
    ("将", " "),
    ("於", " at "),
    ("于", " at "),
    ("在", " at "),
    ("：", ":"),
    ("，", ", "),
    ("。", ". "),
    ("！", ". "),
    ("；", ". "),
    ("（", " ("),
    ("）", ") "),
];

/// `text` with its Chinese words translated.
pub(super) fn translated(text: &str) -> Cow<'_, str> {
    if !text.contains(is_chinese) {
        return Cow::Borrowed(text);
    }
    let translated = WORDS
        .iter()
        .fold(text.to_owned(), |text, (word, english)| text.replace(word, english));
    Cow::Owned(with_units(&translated))
}

/// Writes what stands between numbers as it does in English: `2026年11月29日 18点40分` as `2026-11-29 18:40`.
fn with_units(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_after_number = out.trim_end().ends_with(|last: char| last.is_ascii_digit());
        let is_before_number = characters
            .clone()
            .find(|next| *next != ' ')
            .is_some_and(|next| next.is_ascii_digit());
        match character {
            '年' if is_after_number => out.push('-'),
            '月' if is_after_number => out.push(character),
            '日' | '号' | '號' if is_after_number => out.push(' '),
            '点' | '點' | '时' | '時' if is_after_number && is_before_number => out.push(':'),
            '点' | '點' | '时' | '時' if is_after_number => out.push_str(":00 "),
            '分' if is_after_number && is_within_clock(&out) => out.push(' '),
            '分' if is_after_number => out.push_str(" min "),
            '周' if is_after_number => out.push_str(" weeks "),
            '秒' if is_after_number => out.push_str(" s "),
            // Every other one ends a word.
            other if is_chinese(other) => {
                out.push(' ');
            }
            other => out.push(other),
        }
    }
    out
}

/// Whether the number at the end of `text` is that of minutes of a time of day.
fn is_within_clock(text: &str) -> bool {
    text.trim_end_matches(|character: char| character.is_ascii_digit())
        .ends_with(':')
}

fn is_chinese(character: char) -> bool {
    matches!(character, '\u{3000}'..='\u{303f}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}
