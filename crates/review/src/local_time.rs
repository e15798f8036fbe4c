//! The user's time zone.

/// Date and time of day in the user's time zone.
pub fn date_time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms)
        .ok()
        .and_then(|at_ms| jiff::Timestamp::from_millisecond(at_ms).ok());
    match at {
        Some(at) => at
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => "an unknown time".to_owned(),
    }
}
