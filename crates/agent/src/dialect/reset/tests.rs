use jiff::Timestamp;
use ralph_core::testing::Dice;
use serde_json::json;

use super::*;

/// The end of the limit in `text`, for a local clock at `now`, two hours ahead of UTC.
fn until(now: &str, text: &str) -> Option<String> {
    shown(until_in_text(text, &ZonedClock::at(now)))
}

fn shown(until_ms: Option<u64>) -> Option<String> {
    let moment = Timestamp::from_millisecond(i64::try_from(until_ms?).expect("a time")).expect("a time");
    Some(moment.to_string())
}

#[test]
fn times_are_found_in_what_agents_say() {
    let now = "2026-11-20T10:00:00Z";
    for (text, expected) in [
        (
            "You've hit your session limit · resets 6:40pm (UTC)",
            "2026-11-20T18:40:00Z",
        ),
        (
            "5-hour limit reached ∙ resets 11pm (Asia/Tokyo)",
            "2026-11-20T14:00:00Z",
        ),
        ("limit · resets 8pm (Asia/Tokyo)", "2026-11-20T11:00:00Z"),
        (
            "You've hit your weekly limit · resets Nov 26, 9am",
            "2026-11-26T07:00:00Z",
        ),
        (
            "You've hit your weekly limit · resets Nov 26 at 9am (UTC)",
            "2026-11-26T09:00:00Z",
        ),
        ("resets Jan 3, 9am", "2027-01-03T07:00:00Z"),
        ("Visit https://x/usage or try again at 6:40 PM.", "2026-11-20T16:40:00Z"),
        ("or try again at Nov 21st, 2026 6:40 PM.", "2026-11-21T16:40:00Z"),
        ("try again at 18:40", "2026-11-20T16:40:00Z"),
        ("resets 12am", "2026-11-20T22:00:00Z"),
        ("resets 12pm (UTC)", "2026-11-20T12:00:00Z"),
        ("Suggested retry after 3600s.", "2026-11-20T11:00:00Z"),
        (
            "Rate limit reached. Please try again in 1m30.5s. Visit",
            "2026-11-20T10:01:30.5Z",
        ),
        ("try again in 3 days 3 hours 5 minutes.", "2026-11-23T13:05:00Z"),
        ("Your quota will reset after 2h30m5s.", "2026-11-20T12:30:05Z"),
        ("Retry-After: 120", "2026-11-20T10:02:00Z"),
        ("usage limit reached|1795200000", "2026-11-20T18:40:00Z"),
        ("resets at 2026-11-20T18:40:00Z.", "2026-11-20T18:40:00Z"),
        ("Retrying in 8.0 seconds...", "2026-11-20T10:00:08Z"),
        ("Your limit will reset on 12/24/2026.", "2026-12-23T22:00:00Z"),
        ("reset on 24/12/2026 at 9am (UTC)", "2026-12-24T09:00:00Z"),
        ("available again on 2026-12-24", "2026-12-23T22:00:00Z"),
        ("available again on Dec 24.", "2026-12-23T22:00:00Z"),
        (
            "reset the counter, then try again in 20 seconds",
            "2026-11-20T10:00:20Z",
        ),
    ] {
        assert_eq!(until(now, text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_no_time_is_none() {
    for text in [
        "",
        "resets",
        "resets soon",
        "resets 99pm",
        "resets 0pm",
        "resets 7:99pm",
        "resets Oct 99, 9am",
        "resets Oct",
        "try again later",
        "try again 3 times",
        "resets 7",
        "retry after 99999999999999999999s",
        "version 6:40 PM",
        "resets ü 7 é",
        "resets Oct 3, 9am",
        "resets on 2031-01-01",
        "resets at 4102444800",
        "you have used 5 hours; resets soon",
        "resets every 5 hours",
        "the limit is for 5 hours and resets later",
        "retry attempts: 5 min",
        "resets 5:é",
        "resets Nov 20",
        "reset on 13/13/2026",
        "reset on 12/24",
        "reset on 1/2/3/2026",
        "reset 2026-99-99",
    ] {
        assert_eq!(until("2026-11-20T10:00:00Z", text), None, "{text}");
    }
}

#[test]
fn a_time_of_day_is_the_next_one_and_one_that_has_just_passed_is_not_put_off_for_a_day() {
    assert_eq!(
        until("2026-11-20T23:59:00Z", "resets 12:10am (UTC)").as_deref(),
        Some("2026-11-21T00:10:00Z")
    );
    assert_eq!(
        until("2026-11-20T18:41:00Z", "resets 6:40pm (UTC)").as_deref(),
        Some("2026-11-20T18:40:00Z")
    );
    assert_eq!(
        until("2026-11-20T18:50:00Z", "resets 6:40pm (UTC)").as_deref(),
        Some("2026-11-21T18:40:00Z")
    );
    assert_eq!(
        until("2026-12-31T12:00:00Z", "resets Jan 2, 9am (UTC)").as_deref(),
        Some("2027-01-02T09:00:00Z")
    );
}

#[test]
fn a_zone_nobody_knows_is_the_local_one() {
    assert_eq!(
        until("2026-11-20T10:00:00Z", "resets 8pm (Mars/Olympus)").as_deref(),
        Some("2026-11-20T18:00:00Z")
    );
}

#[test]
fn fields_name_moments_and_delays() {
    let clock = ZonedClock::at("2026-11-20T10:00:00Z");
    for (body, expected) in [
        (json!({"error": {"resets_at": 1_795_200_000}}), "2026-11-20T18:40:00Z"),
        (json!({"resetsAt": 1_795_200_000_000_u64}), "2026-11-20T18:40:00Z"),
        (json!({"error": {"resets_in_seconds": 60}}), "2026-11-20T10:01:00Z"),
        (
            json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "3600s"}]}}),
            "2026-11-20T11:00:00Z",
        ),
    ] {
        assert_eq!(
            shown(until_in_fields(&body, &clock)).as_deref(),
            Some(expected),
            "{body}"
        );
    }
    assert_eq!(until_in_fields(&json!({"error": {"resets_at": "soon"}}), &clock), None);
}

#[test]
fn a_header_is_a_number_of_seconds_or_a_moment() {
    let clock = ZonedClock::at("2026-11-20T10:00:00Z");
    for (value, expected) in [
        ("3600", Some("2026-11-20T11:00:00Z")),
        ("Fri, 20 Nov 2026 18:40:00 GMT", Some("2026-11-20T18:40:00Z")),
        ("soon", None),
        ("-5", None),
    ] {
        assert_eq!(shown(until_in_header(value, &clock)).as_deref(), expected, "{value}");
    }
}

#[test]
fn midnight_is_that_of_its_zone() {
    let clock = ZonedClock::at("2026-11-20T10:00:00Z");
    assert_eq!(
        shown(next_midnight("America/Los_Angeles", &clock)).as_deref(),
        Some("2026-11-21T08:00:00Z")
    );
    assert_eq!(next_midnight("No/Where", &clock), None);
}

/// Ways to name times. It is a Friday, 12:00 local time.
#[test]
fn a_time_is_found_however_it_is_written() {
    let now = "2026-11-20T10:00:00Z";
    for (text, expected) in [
        // Days of the week.
        ("resets Monday 9am", "2026-11-23T07:00:00Z"),
        ("Your weekly limit resets on Mon, 9:00 (UTC).", "2026-11-23T09:00:00Z"),
        ("try again on Thursday at 9 a.m. UTC", "2026-11-26T09:00:00Z"),
        ("resets Friday 9am", "2026-11-27T07:00:00Z"),
        ("resets Fri 4pm", "2026-11-20T14:00:00Z"),
        ("resets Mon. at 9 a.m.", "2026-11-23T07:00:00Z"),
        ("resets on Thurs., Dec. 3 at 5pm", "2026-12-03T15:00:00Z"),
        ("resets weds 5 pm PST", "2026-11-26T01:00:00Z"),
        ("The quota renews next Tuesday.", "2026-11-23T22:00:00Z"),
        ("resets for everyone on Sunday at noon", "2026-11-22T10:00:00Z"),
        ("available again tomorrow at 9am", "2026-11-21T07:00:00Z"),
        ("resets at midnight UTC", "2026-11-21T00:00:00Z"),
        ("resets at midnight Pacific time", "2026-11-21T08:00:00Z"),
        ("On Monday at 9am your limit resets", "2026-11-23T07:00:00Z"),
        // Dates.
        ("resets Dec 3, 5pm", "2026-12-03T15:00:00Z"),
        ("resets 3 Dec 2026 at 17:00", "2026-12-03T15:00:00Z"),
        ("resets Thursday, 3rd of December, 5pm (UTC)", "2026-12-03T17:00:00Z"),
        ("resets at 5pm on Dec 3", "2026-12-03T15:00:00Z"),
        ("resets at 5pm (UTC) on Dec 3", "2026-12-03T17:00:00Z"),
        ("Retry at Fri, 20 Nov 2026 18:40:00 GMT", "2026-11-20T18:40:00Z"),
        // Stamps.
        ("will reset at 2026-11-20 18:40:00", "2026-11-20T16:40:00Z"),
        ("will reset at 2026-11-20T18:40:00.5", "2026-11-20T16:40:00Z"),
        ("will reset at 2026-11-20 18:40:00 UTC", "2026-11-20T18:40:00Z"),
        ("will reset at 2026-11-20 18:40:00+08:00", "2026-11-20T10:40:00Z"),
        ("will reset at 2026-11-20T18:40:00+0800", "2026-11-20T10:40:00Z"),
        ("will reset at 2026/11/20 18:40 (UTC+8)", "2026-11-20T10:40:00Z"),
        (
            "will reset at 2026-11-20 18:40, Asia/Tokyo time",
            "2026-11-20T09:40:00Z",
        ),
        ("resets 6:40 PM PST", "2026-11-21T02:40:00Z"),
        // Waits.
        ("try again in 2 h 13 m", "2026-11-20T12:13:00Z"),
        ("try again in 2h13m.", "2026-11-20T12:13:00Z"),
        (
            "You can try again in about an hour and 5 minutes",
            "2026-11-20T11:05:00Z",
        ),
        ("Limit exceeded, in 2 hours you may try again", "2026-11-20T12:00:00Z"),
        ("retry after PT2H13M", "2026-11-20T12:13:00Z"),
        ("resets_in_seconds: 90", "2026-11-20T10:01:30Z"),
        // Chinese.
        ("您的限额将在 2 小时 13 分钟后重置。", "2026-11-20T12:13:00Z"),
        ("请在5分钟后重试", "2026-11-20T10:05:00Z"),
        ("请于 30 秒后再试", "2026-11-20T10:00:30Z"),
        ("已达到使用上限，将在 2026-11-20 18:40:00 重置", "2026-11-20T16:40:00Z"),
        ("额度将于北京时间2026年11月20日19点40分重置", "2026-11-20T11:40:00Z"),
        ("额度将在11月21日上午9点恢复", "2026-11-21T07:00:00Z"),
        ("每周限额将在周一上午9点重置", "2026-11-23T07:00:00Z"),
        ("重置时间：明天下午6点40分", "2026-11-21T16:40:00Z"),
    ] {
        assert_eq!(until(now, text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn of_the_zones_that_a_time_may_mean_one_within_the_named_window_is_taken_and_no_wait_is_longer() {
    for (now, text, expected) in [
        // The local reading fits, though UTC is two hours behind it.
        (
            "2026-11-20T10:00:00Z",
            "5-hour limit; resets at 2026-11-20 14:00:00",
            "2026-11-20T12:00:00Z",
        ),
        // Only UTC does, as the local reading is past.
        (
            "2026-11-20T10:00:00Z",
            "5-hour limit; resets at 2026-11-20 11:00:00",
            "2026-11-20T11:00:00Z",
        ),
        // A stamp of Shanghai.
        (
            "2026-11-28T18:52:07Z",
            "Usage limit reached for 5 hour. Your limit will reset at 2026-11-29 04:52:07",
            "2026-11-28T20:52:07Z",
        ),
        (
            "2026-11-28T18:52:07Z",
            "5小时限额已用完，将在 2026-11-29 04:52:07 重置",
            "2026-11-28T20:52:07Z",
        ),
        // No reading does.
        (
            "2026-11-20T10:00:00Z",
            "5-hour limit reached ∙ resets 6pm (Asia/Tokyo)",
            "2026-11-20T15:00:00Z",
        ),
        (
            "2026-11-20T10:00:00Z",
            "weekly limit · resets Dec 3, 9am",
            "2026-11-27T10:00:00Z",
        ),
        (
            "2026-11-20T10:00:00Z",
            "daily limit reached, try again in 3 days",
            "2026-11-21T10:00:00Z",
        ),
        // A rate is no window.
        (
            "2026-11-20T10:00:00Z",
            "100 requests per minute. Try again in 90 s",
            "2026-11-20T10:01:30Z",
        ),
        // The sentence of the time has its own window.
        (
            "2026-11-20T10:00:00Z",
            "You have hit the 5-hour limit. The weekly limit resets Monday 9am",
            "2026-11-23T07:00:00Z",
        ),
    ] {
        assert_eq!(until(now, text).as_deref(), Some(expected), "{text}");
    }
}

/// A clock at any time, in any zone.
fn any_clock(dice: &mut Dice) -> ZonedClock {
    let minutes = u64::try_from(dice.index(2 * 365 * 24 * 60)).expect("a number");
    let quarters = i32::try_from(dice.index(26 * 4)).expect("a number") - 12 * 4;
    ZonedClock {
        now_ms: 1_795_200_000_000 + minutes * 60_000,
        zone: TimeZone::fixed(jiff::tz::Offset::from_seconds(quarters * 900).expect("an offset")),
        ..ZonedClock::at("2026-11-20T10:00:00Z")
    }
}

#[test]
fn no_wait_is_longer_than_the_window_and_a_time_in_the_local_zone_is_exact() {
    let mut dice = Dice::new(0x07e5);
    for _ in 0..20_000 {
        let clock = any_clock(&mut dice);
        let (window, hours) = [("5-hour", 5), ("weekly", 7 * 24), ("24 hour", 24), ("每5小时", 5)][dice.index(4)];
        let wait_minutes = 1 + u64::try_from(dice.index(hours * 60 - 6)).expect("a number");
        let true_ms = clock.now_ms - clock.now_ms % 60_000 + wait_minutes * 60_000;
        let (zone, name) = match dice.index(4) {
            0 => (clock.zone.clone(), ""),
            1 => (TimeZone::UTC, " (UTC)"),
            2 => (TimeZone::fixed(offset(9)), " (Asia/Tokyo)"),
            // Another zone, which is not named.
            _ => (any_clock(&mut dice).zone, ""),
        };
        let at = Timestamp::from_millisecond(i64::try_from(true_ms).expect("a time")).expect("a time");
        let at = at.to_zoned(zone.clone());
        let form = [
            "%Y-%m-%d %H:%M",
            "%b %d, %I:%M %p",
            "%A %H:%M",
            "%d %B %Y at %H:%M:%S",
            "%H:%M on %m/%d/%Y",
            "%Y年%m月%d日%H点%M分",
        ];
        let form = form[dice.index(form.len())];
        let text = format!(
            "The {window} limit was reached and resets at {}{name}.",
            at.strftime(form)
        );
        let until = until_in_text(&text, &clock);
        let window_ms = u64::try_from(hours).expect("a number") * 3_600_000;
        if let Some(until) = until {
            assert!(
                until <= clock.now_ms + window_ms,
                "{text} at {} in {:?}",
                clock.now_ms,
                clock.zone
            );
        }
        // On the day itself, a day of the week may be the next one, too.
        if !name.is_empty() || zone == clock.zone {
            assert_eq!(until, Some(true_ms), "{text} at {} in {:?}", clock.now_ms, clock.zone);
        }
    }
}

const PIECES: [&str; 40] = [
    "resets",
    "try again",
    " ",
    " ",
    " at ",
    " in ",
    "5",
    "99",
    "2026",
    "-",
    "/",
    ":",
    ".",
    "am",
    "pm",
    "a.m.",
    "Monday",
    "Dec",
    "月",
    "年",
    "日",
    "点",
    "后",
    "重置",
    "周",
    "每",
    "hour",
    "weekly",
    "limit",
    "UTC",
    "+08:00",
    "(",
    ")",
    "Z",
    "é",
    "PT",
    "\u{301}",
    "T04:52",
    "midnight",
    "\n",
];

#[test]
fn no_text_makes_it_panic_and_no_wait_is_longer_than_is_sane() {
    let mut dice = Dice::new(0xfade);
    for _ in 0..50_000 {
        let clock = any_clock(&mut dice);
        let text: String = (0..dice.index(14)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
        if let Some(until) = until_in_text(&text, &clock) {
            assert!(until <= clock.now_ms + MAX_WAIT_MS, "{text}");
        }
    }
}
