//! Selects the events that are logged: `info`, `debug`, `warn,agent=trace,git=off`.

use std::str::FromStr;

use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// The name with which the module paths of all of ralph's packages begin.
const PREFIX: &str = "ralph";

/// The packages that hold several modules, without the prefix. The other packages are a module each.
const OF_MODULES: [&str; 5] = ["", "_policy", "_state", "_system", "_tools"];

/// A level for all of ralph, and levels for single modules. Other crates never log: some of them would log headers, and
/// with them passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    level: LevelFilter,
    modules: Vec<(String, LevelFilter)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{part}` is neither a level (off, error, warn, info, debug, trace) nor MODULE=LEVEL, as in `RALPH_LOG=info,agent=debug`"
)]
pub struct FilterError {
    part: String,
}

impl Default for Filter {
    fn default() -> Self {
        Filter::from_level(LevelFilter::INFO)
    }
}

impl Filter {
    /// Returns the filter of `--verbose`.
    pub fn verbose() -> Filter {
        Filter::from_level(LevelFilter::DEBUG)
    }

    fn from_level(level: LevelFilter) -> Filter {
        Filter {
            level,
            modules: Vec::new(),
        }
    }

    pub(super) fn targets(&self) -> Targets {
        let modules = self.modules.iter().flat_map(|(module, level)| {
            let package = format!("{PREFIX}_{module}");
            let modules = OF_MODULES.iter().map(move |name| format!("{PREFIX}{name}::{module}"));
            modules.chain([package]).map(|target| (target, *level))
        });
        Targets::new().with_target(PREFIX, self.level).with_targets(modules)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    /// Parses levels that are separated by commas. An empty text is the default.
    fn from_str(text: &str) -> Result<Filter, FilterError> {
        let mut filter = Filter::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || FilterError { part: part.to_owned() };
            let (module, level) = match part.split_once('=') {
                Some((module, level)) => (Some(module.trim()), level.trim()),
                None => (None, part),
            };
            // The library accepts numbers as levels, but the user is not offered them.
            let level = level
                .parse()
                .ok()
                .filter(|_| level.bytes().all(|byte| byte.is_ascii_alphabetic()));
            let level: LevelFilter = level.ok_or_else(wrong)?;
            match module {
                None => filter.level = level,
                Some("") => return Err(wrong()),
                Some(module) => {
                    let module = module.strip_prefix("ralph::").unwrap_or(module);
                    filter.modules.push((module.to_owned(), level));
                }
            }
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_and_levels_of_modules() {
        let filter: Filter = " warn, agent=debug,ralph::git=trace ".parse().unwrap();
        assert_eq!(filter.level, LevelFilter::WARN);
        let debug = ("agent".to_owned(), LevelFilter::DEBUG);
        assert_eq!(filter.modules, [debug, ("git".to_owned(), LevelFilter::TRACE)]);
        assert_eq!("".parse(), Ok(Filter::default()));
        assert_eq!("DEBUG".parse(), Ok(Filter::verbose()));
    }

    #[test]
    fn what_is_no_filter_is_refused_by_its_part() {
        for (text, part) in [
            ("debgu", "debgu"),
            ("info,agent=loud", "agent=loud"),
            ("=debug", "=debug"),
            ("3", "3"),
        ] {
            let error = text.parse::<Filter>().unwrap_err();
            assert_eq!(error.part, part);
        }
    }
}
