//! The arguments of `ralph web` and `ralph token`.

use std::net::SocketAddr;

use clap::Subcommand;

use crate::config::listen::{listen_address, proxy_host};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(in crate::cli) enum WebCommand {
    /// Print the token of this project's API, for programs and browsers that connect to a listening run (`--listen`)
    Token {
        /// Print the read-only token, which can view a run but not send commands
        #[arg(long)]
        read_only: bool,
        /// Print the token of `ralph web`, which is valid for the runs of all projects
        #[arg(long)]
        web: bool,
        /// Replace the tokens first, so that the old ones stop working; browsers are logged out
        #[arg(long)]
        revoke: bool,
        /// With --web: print an address instead that logs one browser in, within two minutes
        #[arg(long, requires = "web", conflicts_with_all = ["read_only", "revoke"])]
        code: bool,
    },
    /// Serve the runs of all your projects on one page, for a browser on this machine or, through a tunnel, on your
    /// phone
    Web {
        /// The address to listen on [default: 127.0.0.1:7257]
        #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
        listen: Option<SocketAddr>,
        /// Host names of an encrypting proxy that forwards requests to that address, separated by commas
        #[arg(long, value_name = "HOSTS", value_delimiter = ',', value_parser = proxy_host)]
        behind_proxy: Vec<String>,
        /// Also print the address as a QR code, for the camera of a phone
        #[arg(long)]
        qr: bool,
    },
}
