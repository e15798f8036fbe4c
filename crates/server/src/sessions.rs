//! Sessions of browsers, and the codes that begin them.
//!
//! Both are in memory alone: each start of a server begins without any, and no file has a secret that an agent without
//! a sandbox could use. A code is what an address contains, since addresses stay in the history of a browser: it works
//! once, and for two minutes.

use std::{
    io,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ralph_state::{control::ClientRole, store::tokens::AccessToken};
use serde::Serialize;

/// Lifetime of a code.
const CODE_LIFETIME: Duration = Duration::from_secs(2 * 60);
/// Hexadecimal digits of a code: 128 bits.
const CODE_DIGITS: usize = 32;
/// Maximum number of codes at a time. The oldest is dropped.
const MAX_CODES: usize = 16;
/// Maximum number of sessions. The one that was used least recently is ended.
const MAX_SESSIONS: usize = 64;
/// Characters kept of the name of a browser.
const BROWSER_CHARACTERS: usize = 160;

/// The sessions of a listener.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<SessionTable>);

#[derive(Debug, Default)]
struct SessionTable {
    sessions: Vec<Session>,
    codes: Vec<(AccessToken, Instant)>,
    /// The number of the latest session.
    latest: u32,
}

#[derive(Debug)]
struct Session {
    secret: AccessToken,
    role: ClientRole,
    entry: SessionEntry,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::schema::JsonSchema)]
#[schemars(rename = "Session")]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionEntry {
    number: u32,
    read_only: bool,
    /// The browser's description of itself.
    browser: String,
    /// In milliseconds since the Unix epoch.
    began_ms: u64,
    /// Time of the last request, in milliseconds since the Unix epoch.
    last_ms: u64,
}

impl Sessions {
    fn table<T>(&self, work: impl FnOnce(&mut SessionTable) -> T) -> T {
        work(&mut self.0.lock())
    }

    /// Begins a session and returns its secret.
    pub(super) fn begin(&self, role: ClientRole, browser: &str, now_ms: u64) -> io::Result<AccessToken> {
        let secret = AccessToken::generate()?;
        self.table(|table| {
            table.latest += 1;
            let printed = browser.chars().filter(|character| !character.is_control());
            let entry = SessionEntry {
                number: table.latest,
                read_only: role != ClientRole::User,
                browser: printed.take(BROWSER_CHARACTERS).collect(),
                began_ms: now_ms,
                last_ms: now_ms,
            };
            table.sessions.push(Session {
                secret: secret.clone(),
                role,
                entry,
            });
            if table.sessions.len() > MAX_SESSIONS {
                table.sessions.sort_by_key(|session| session.entry.last_ms);
                table.sessions.remove(0);
            }
        });
        Ok(secret)
    }

    /// The number and the role of the session with the secret `shown`.
    pub(super) fn find(&self, shown: &str, now_ms: u64) -> Option<(u32, ClientRole)> {
        self.table(|table| {
            let session = table.sessions.iter_mut().find(|session| session.secret.is(shown))?;
            session.entry.last_ms = now_ms;
            Some((session.entry.number, session.role))
        })
    }

    pub(super) fn is_open(&self, number: u32) -> bool {
        self.table(|table| table.sessions.iter().any(|session| session.entry.number == number))
    }

    /// The sessions, the one that was used last first.
    pub(super) fn list(&self) -> Vec<SessionEntry> {
        let mut entries: Vec<SessionEntry> =
            self.table(|table| table.sessions.iter().map(|session| session.entry.clone()).collect());
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.last_ms));
        entries
    }

    /// Ends a session. Returns whether it was there.
    pub(super) fn end(&self, number: u32) -> bool {
        self.table(|table| {
            let before = table.sessions.len();
            table.sessions.retain(|session| session.entry.number != number);
            table.sessions.len() < before
        })
    }

    /// Ends all sessions and drops all codes.
    pub(super) fn end_all(&self) {
        self.table(|table| {
            table.sessions.clear();
            table.codes.clear();
        });
    }

    /// Makes a code that begins one session of the user.
    pub(crate) fn make_code(&self, now: Instant) -> io::Result<AccessToken> {
        let code = AccessToken::generate()?.shortened(CODE_DIGITS);
        self.table(|table| {
            table.codes.retain(|(_, until)| *until > now);
            if table.codes.len() == MAX_CODES {
                table.codes.remove(0);
            }
            table.codes.push((code.clone(), now + CODE_LIFETIME));
        });
        Ok(code)
    }

    pub(super) fn is_code(&self, shown: &str, now: Instant) -> bool {
        let is_it = |(code, until): &(AccessToken, Instant)| code.is(shown) && *until > now;
        self.table(|table| table.codes.iter().any(is_it))
    }

    /// Uses a code up. Returns whether it was valid.
    pub(super) fn take_code(&self, shown: &str, now: Instant) -> bool {
        self.table(|table| {
            let found = table.codes.iter().position(|(code, _)| code.is(shown));
            found.is_some_and(|at| table.codes.remove(at).1 > now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_for_two_minutes() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let code = sessions.make_code(now).unwrap();
        assert_eq!(code.secret().len(), CODE_DIGITS);
        assert!(sessions.is_code(code.secret(), now) && !sessions.is_code("", now));
        assert!(sessions.take_code(code.secret(), now));
        assert!(!sessions.take_code(code.secret(), now), "once");
        let late = now + CODE_LIFETIME;
        let code = sessions.make_code(now).unwrap();
        assert!(!sessions.is_code(code.secret(), late) && !sessions.take_code(code.secret(), late));
    }

    #[test]
    fn a_session_is_found_by_its_secret_until_it_ends_and_the_oldest_makes_room() {
        let sessions = Sessions::default();
        let first = sessions.begin(ClientRole::Reader, "one\u{1b}[2J", 1).unwrap();
        assert_eq!(sessions.find(first.secret(), 2), Some((1, ClientRole::Reader)));
        let entry = sessions.list().remove(0);
        assert_eq!(
            (entry.browser.as_str(), entry.read_only, entry.last_ms),
            ("one[2J", true, 2)
        );
        for n in 1..=MAX_SESSIONS as u64 {
            sessions.begin(ClientRole::User, "more", 2 + n).unwrap();
        }
        assert_eq!(sessions.find(first.secret(), 99), None);
        assert!(!sessions.is_open(1) && sessions.is_open(2));
        assert!(sessions.end(2) && !sessions.end(2));
        sessions.end_all();
        assert_eq!(sessions.list(), []);
    }
}
