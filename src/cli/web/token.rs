//! `ralph token`: prints the token with which programs and browsers use the HTTP API of this project's runs over TCP.

use ralph_state::{
    control::UserOnlyAction,
    store::tokens::{AccessTokens, TokenFile},
};
use ralph_text::console::print;

use crate::error::Failure;

use super::super::{args::Args, run::place, trust::refuse_agent};

/// Prints a token. With `revoke`, replaces the tokens first.
pub(super) fn run(args: &Args, read_only: bool, web: bool, revoke: bool) -> Result<u8, Failure> {
    let place = place(args)?;
    refuse_agent(&place.paths, UserOnlyAction::Token)?;
    place.paths.create()?;
    let file = TokenFile::new(match web {
        true => place.paths.states().tokens(),
        false => place.paths.tokens(),
    });
    let AccessTokens {
        full, read_only: looks, ..
    } = match revoke {
        true => file.renew()?,
        false => file.read_or_make()?,
    };
    let token = if read_only { looks } else { full };
    print(&format!("{}\n", token.secret()));
    Ok(0)
}
