//! `ralph web`: serves all runs of the user on one page and through one API.

use std::net::{Ipv4Addr, SocketAddr};

use ralph_state::{
    control::UserOnlyAction,
    store::{paths::create_private_dir, tokens::TokenFile},
};
use ralph_system::proc::Supervisor;
use ralph_text::console::{complain, print};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    app::{bind, listen},
    error::{Failure, FailureKind},
    server::serve_all,
};

use super::{args::Args, run::place, trust::refuse_agent};

/// 7257 spells RALP on a telephone keypad. A fixed port keeps bookmarks and cookies valid.
const PORT: u16 = 7257;

/// Serves until it is interrupted.
pub(super) fn run(
    args: &Args,
    address: Option<SocketAddr>,
    proxied: &[String],
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = place(args)?;
    refuse_agent(&place.paths, UserOnlyAction::Web)?;
    create_private_dir(place.paths.states().root())?;
    let states = place.paths.states();
    let address = address.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    let tokens = TokenFile::new(states.tokens());
    let listening = listen(bind(address, proxied)?, tokens, proxied)?;
    let failed = |error| Failure::new(FailureKind::Failed, format!("nothing can be served: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let code = listening.access.make_code().map_err(failed)?;
        for page in listening.access.pages() {
            print(&format!("{page}/#code={}\n", code.secret()));
        }
        complain(
            "open this address in a browser within two minutes: it works once and gives full control of your runs \
             (`ralph token --web --code` prints another, Ctrl-C stops the server)",
        );
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        let (root, socket) = (
            states.root().to_owned(),
            states.web_socket(listening.access.address().port()),
        );
        let served = serve_all(listening, root, &socket, supervisor, stop).await;
        served.map_err(failed)
    })?;
    Ok(0)
}
