//! The windows of an account's usage, as agents report them, and how much of them runs leave to the user.

use serde::{Deserialize, Serialize};

/// Added to a reset, because the clocks of server and client differ.
const RESET_MARGIN_MS: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// Five hours, or another time of up to a day.
    FiveHour,
    /// A week, or another time of more than a day.
    Week,
}

/// A window of an account's usage, as an agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageWindow {
    pub kind: WindowKind,
    /// The used share in percent.
    pub used_percent: u8,
    pub resets_ms: u64,
    pub length_ms: u64,
}

/// The newest report of a window, by any run of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowSample {
    pub at_ms: u64,
    pub window: UsageWindow,
}

/// How much of an account's windows runs leave to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Headroom {
    /// Percent of the window of five hours that stays free.
    pub five_hour: u8,
    /// Percent of the window of a week that stays free.
    pub week: u8,
    pub pace: WindowPace,
}

/// How fast runs may use up a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowPace {
    #[default]
    Free,
    /// The used share is at most the share of the window's time that has passed.
    Even,
}

/// A window of which more is used than runs may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowHold {
    pub kind: WindowKind,
    pub used_percent: u8,
    /// The share that runs may use at present.
    pub most_percent: u8,
    pub until_ms: u64,
}

impl WindowSample {
    /// Whether the report still says something at `now_ms`: it is not older than its window, which has not been reset
    /// and ends within its length.
    pub fn holds_at(&self, now_ms: u64) -> bool {
        let UsageWindow {
            resets_ms, length_ms, ..
        } = self.window;
        let is_old = self.at_ms.saturating_add(length_ms) <= now_ms;
        let is_over = resets_ms <= now_ms;
        // The clock was set, or the report is nonsense.
        let is_too_far = resets_ms > now_ms.saturating_add(length_ms).saturating_add(RESET_MARGIN_MS);
        !is_old && !is_over && !is_too_far
    }
}

impl Headroom {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the window because of which no iteration may start at `now_ms`, the one with the latest end of several.
    pub fn hold(&self, samples: &[WindowSample], now_ms: u64) -> Option<WindowHold> {
        let valid = samples.iter().filter(|sample| sample.holds_at(now_ms));
        let holds = valid.flat_map(|sample| {
            let kept_free = self.kept_free(&sample.window);
            [kept_free, self.paced(&sample.window, now_ms)]
        });
        holds.flatten().max_by_key(|hold| hold.until_ms)
    }

    fn kept_free(&self, window: &UsageWindow) -> Option<WindowHold> {
        let free = match window.kind {
            WindowKind::FiveHour => self.five_hour,
            WindowKind::Week => self.week,
        };
        let most_percent = 100_u8.saturating_sub(free);
        (free > 0 && window.used_percent >= most_percent).then(|| WindowHold {
            kind: window.kind,
            used_percent: window.used_percent,
            most_percent,
            until_ms: window.resets_ms.saturating_add(RESET_MARGIN_MS),
        })
    }

    fn paced(&self, window: &UsageWindow, now_ms: u64) -> Option<WindowHold> {
        let began_ms = window.resets_ms.saturating_sub(window.length_ms);
        let used_ms = window.length_ms / 100 * u64::from(window.used_percent.min(100));
        let until_ms = began_ms.saturating_add(used_ms);
        let passed = now_ms.saturating_sub(began_ms).saturating_mul(100) / window.length_ms.max(1);
        let most_percent = u8::try_from(passed.min(100)).unwrap_or(100);
        (self.pace == WindowPace::Even && until_ms > now_ms).then_some(WindowHold {
            kind: window.kind,
            used_percent: window.used_percent,
            most_percent,
            until_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;
    const NOW_MS: u64 = 1_000 * HOUR_MS;

    /// A window of five hours of which three have passed.
    fn used(used_percent: u8) -> WindowSample {
        WindowSample {
            at_ms: NOW_MS - 1,
            window: UsageWindow {
                kind: WindowKind::FiveHour,
                used_percent,
                resets_ms: NOW_MS + 2 * HOUR_MS,
                length_ms: 5 * HOUR_MS,
            },
        }
    }

    const KEPT: Headroom = Headroom {
        five_hour: 15,
        week: 25,
        pace: WindowPace::Free,
    };
    const PACED: Headroom = Headroom {
        five_hour: 0,
        week: 0,
        pace: WindowPace::Even,
    };

    #[test]
    fn a_window_holds_iterations_from_the_line_on_until_its_reset() {
        assert_eq!(KEPT.hold(&[used(84)], NOW_MS), None);
        let hold = KEPT.hold(&[used(85)], NOW_MS).expect("a hold");
        assert_eq!((hold.used_percent, hold.most_percent), (85, 85));
        assert_eq!(hold.until_ms, NOW_MS + 2 * HOUR_MS + RESET_MARGIN_MS);
        assert_eq!(KEPT.hold(&[used(85)], hold.until_ms), None, "the reset has passed");
        assert_eq!(Headroom::default().hold(&[used(100)], NOW_MS), None);
    }

    #[test]
    fn an_even_pace_waits_until_the_time_has_caught_up_with_the_usage() {
        assert_eq!(PACED.hold(&[used(60)], NOW_MS), None);
        let hold = PACED.hold(&[used(80)], NOW_MS).expect("a hold");
        assert_eq!((hold.most_percent, hold.until_ms), (60, NOW_MS + HOUR_MS));
        assert_eq!(PACED.hold(&[used(80)], hold.until_ms), None);
    }

    #[test]
    fn the_window_that_holds_longest_counts() {
        let week = WindowSample {
            at_ms: NOW_MS,
            window: UsageWindow {
                kind: WindowKind::Week,
                used_percent: 80,
                resets_ms: NOW_MS + 30 * HOUR_MS,
                length_ms: 168 * HOUR_MS,
            },
        };
        let hold = KEPT.hold(&[used(90), week], NOW_MS).expect("a hold");
        assert_eq!((hold.kind, hold.most_percent), (WindowKind::Week, 75));
    }

    #[test]
    fn an_old_report_is_not_believed() {
        let full = used(100);
        let reported = |at_ms, resets_ms| WindowSample {
            at_ms,
            window: UsageWindow {
                resets_ms,
                ..full.window
            },
        };
        for doubtful in [
            reported(NOW_MS - 5 * HOUR_MS, NOW_MS + HOUR_MS),
            reported(NOW_MS - 1, NOW_MS),
            reported(NOW_MS - 1, NOW_MS + 6 * HOUR_MS),
        ] {
            assert_eq!(KEPT.hold(&[doubtful], NOW_MS), None, "{doubtful:?}");
        }
        assert!(KEPT.hold(&[full], NOW_MS).is_some());
    }

    #[test]
    fn the_clock_of_the_provider_may_be_a_second_ahead() {
        let full = used(100);
        let after_reset = |ahead_ms| WindowSample {
            at_ms: NOW_MS,
            window: UsageWindow {
                resets_ms: NOW_MS + full.window.length_ms + ahead_ms,
                ..full.window
            },
        };
        assert!(after_reset(1_000).holds_at(NOW_MS));
        assert!(!after_reset(1_001).holds_at(NOW_MS));
    }

    #[test]
    fn a_share_of_any_window_or_an_even_pace_is_headroom() {
        let week = Headroom {
            week: 1,
            ..Headroom::default()
        };
        for headroom in [KEPT, PACED, week] {
            assert!(!headroom.is_none(), "{headroom:?}");
        }
        assert!(Headroom::default().is_none());
    }
}
