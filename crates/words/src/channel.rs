//! The communication channel of an agent, in words.

use ralph_core::event::ChannelKind;

/// An adapter with its channel, if it has a choice: `claude (live)`.
pub fn agent_with_channel(adapter: &str, channel: Option<ChannelKind>) -> String {
    match channel {
        None => adapter.to_owned(),
        Some(ChannelKind::OneWay) => format!("{adapter} (one-way)"),
        Some(ChannelKind::Live) => format!("{adapter} (live)"),
    }
}
