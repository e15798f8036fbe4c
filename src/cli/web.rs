//! `ralph web`: serves all runs of the user on one page and through one API; `ralph token` lets clients in.

mod args;
mod code;
mod token;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

use ralph_agent::login::Login;
use ralph_server::{AdapterOffer, AgentOffers, serve_all};
use ralph_state::{
    control::UserOnlyAction,
    store::{chosen, tokens::TokenFile},
};
use ralph_system::{
    paths::{ProjectPaths, create_private_dir},
    proc::Supervisor,
};
use ralph_text::console::{complain, print, print_coloured};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    app::{
        ProjectPlace, catalog,
        listen::{bind, listen},
    },
    config::{self, SettingSources},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

pub(super) use args::WebCommand;

use super::{
    args::Args,
    run::place,
    trust::{place_of, refuse_agent},
};

/// 7257 spells RALP on a telephone keypad. A fixed port keeps bookmarks and cookies valid.
const PORT: u16 = 7257;

pub(super) fn dispatch(args: &Args, command: &WebCommand, supervisor: &Supervisor) -> Result<u8, Failure> {
    match command {
        WebCommand::Web {
            listen,
            behind_proxy,
            qr,
        } => run(args, *listen, behind_proxy, *qr, supervisor),
        WebCommand::Token { code: true, .. } => code::run(args),
        WebCommand::Token {
            read_only, web, revoke, ..
        } => token::run(args, *read_only, *web, *revoke),
    }
}

/// Serves until it is interrupted.
fn run(
    args: &Args,
    address: Option<SocketAddr>,
    proxied: &[String],
    shows_qr: bool,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = place(args)?;
    refuse_agent(&place.paths, UserOnlyAction::Web)?;
    create_private_dir(place.paths.states().root())?;
    let states = place.paths.states();
    let address = address.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    let tokens = TokenFile::new(states.tokens());
    let listening = listen(bind(address, proxied)?, tokens, proxied)?;
    let failed = |error: io::Error| Failure::new(FailureKind::Failed, format!("nothing can be served: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let code = listening.access.make_code().map_err(failed)?;
        for page in listening.access.pages() {
            print(&format!("{page}/#code={}\n", code.secret()));
        }
        if shows_qr && let Some(page) = listening.access.pages().pop() {
            let style = Presentation::for_stdout(OutputFormat::Text).style;
            print_coloured(&qr_code(&format!("{page}/#code={}", code.secret()), style.colour).map_err(failed)?);
            if proxied.is_empty() {
                complain(
                    "a phone reaches this address only through a forwarded port of its own; `--behind-proxy NAME` shows that \
                     of a proxy",
                );
            }
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
        let offered = Box::new(|paths: &ProjectPaths| agents(paths).map_err(|failure| failure.message));
        let served = serve_all(listening, root, &socket, supervisor, offered, stop).await;
        served.map_err(failed)
    })?;
    Ok(0)
}

/// The installed agents that a run of a project could have.
fn agents(paths: &ProjectPaths) -> Result<AgentOffers, Failure> {
    let place = ProjectPlace::for_project(paths.project().to_owned(), Some(paths.states().root()))?;
    let (place, untrusted) = place_of(place)?;
    let mut sources = SettingSources::for_project(place.own.config.clone());
    sources.remembered = Some(chosen::file(&place.paths));
    let config = config::load(&sources)?.config;
    let listed = catalog(&place, &config).list(&place.project);
    let installed = listed
        .into_iter()
        .filter(|adapter| adapter.installed.is_some() && adapter.broken.is_none());
    let adapters = installed.map(|adapter| AdapterOffer {
        logged_in: !matches!(adapter.login, Login::NotFound { .. }),
        id: adapter.id,
        title: adapter.title,
    });
    Ok(AgentOffers {
        adapters: adapters.collect(),
        adapter: config.adapter,
        untrusted,
    })
}

/// Renders an address as a QR code of half blocks. With colours, it is black on white whatever the colours of the
/// terminal are, which cameras prefer; without, it is drawn for a dark terminal.
fn qr_code(address: &str, is_coloured: bool) -> io::Result<String> {
    let code = QrCode::with_error_correction_level(address, EcLevel::L).map_err(io::Error::other)?;
    let mut renderer = code.render::<Dense1x2>();
    if !is_coloured {
        renderer.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark);
    }
    let drawn = renderer.build();
    let lines = drawn.lines().map(|line| match is_coloured {
        true => format!("\x1b[30;107m{line}\x1b[0m\n"),
        false => format!("{line}\n"),
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_square_of_half_blocks_that_fits_a_terminal() {
        let address = format!("https://ralph.example.org/#code={}", "0".repeat(32));
        let drawn = qr_code(&address, false).unwrap();
        let widths: Vec<usize> = drawn.lines().map(|line| line.chars().count()).collect();
        let width = widths[0];
        assert!(width <= 60 && widths.iter().all(|other| *other == width), "{drawn}");
        assert_eq!(widths.len(), width.div_ceil(2));
        // The quiet zone around it is light.
        assert!(
            drawn.lines().next().unwrap().chars().all(|block| block == '█'),
            "{drawn}"
        );
        let coloured = qr_code(&address, true).unwrap();
        assert!(
            coloured
                .lines()
                .all(|line| line.starts_with("\x1b[30;107m ") && line.ends_with("\x1b[0m"))
        );
    }
}
