//! How the user wants screens to look, as chosen on a screen: kept in a file of the user's state, for all projects.
//!
//! Flags and settings count more than this file.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

use ralph_system::files;
use ralph_words::Tone;
use serde::{Deserialize, Serialize};

use super::{
    Setup,
    model::Model,
    notify::NotifyChannel,
    terminal,
    theme::{Palette, Theme},
};

/// Maximum size of the file.
const CAP_BYTES: u64 = 64 * 1024;

/// One choice of the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookChange {
    Theme(Palette),
    Ascii(bool),
    Mouse(bool),
    Notify(bool),
}

/// The choices so far; `None` where the user has made none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Looks {
    pub theme: Option<Palette>,
    pub ascii: Option<bool>,
    pub mouse: Option<bool>,
    pub notify: Option<bool>,
}

impl Looks {
    /// The stored choices. A file that is missing or damaged has none.
    pub fn read(path: &Path) -> Self {
        let text = files::read_text(path, CAP_BYTES).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub fn change(&mut self, change: LookChange) {
        match change {
            LookChange::Theme(palette) => self.theme = Some(palette),
            LookChange::Ascii(ascii) => self.ascii = Some(ascii),
            LookChange::Mouse(mouse) => self.mouse = Some(mouse),
            LookChange::Notify(notify) => self.notify = Some(notify),
        }
    }

    /// Adds a choice to the stored ones.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn remember(path: &Path, change: LookChange) -> io::Result<()> {
        let mut looks = Self::read(path);
        looks.change(change);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let text = serde_json::to_string(&looks)?;
        files::replace(path, text.as_bytes(), fs::Permissions::from_mode(0o600))
    }
}

/// Whether the screen notifies its user at first; `None` if it has no way to.
pub(super) fn notifies(setup: &Setup) -> Option<bool> {
    let chosen = setup.looks.as_deref().map(Looks::read).and_then(|looks| looks.notify);
    match setup.notifier {
        NotifyChannel::None => None,
        NotifyChannel::Bell | NotifyChannel::Osc9 | NotifyChannel::Call(_) => Some(chosen.unwrap_or(true)),
    }
}

/// Changes how the screen looks, and remembers it for later ones in the file `stored`.
pub(super) fn apply(change: LookChange, stored: Option<&Path>, theme: &mut Theme, model: &mut Model) -> io::Result<()> {
    match change {
        LookChange::Theme(palette) => *theme = theme.with_palette(palette),
        LookChange::Ascii(ascii) => *theme = theme.with_ascii(ascii),
        LookChange::Mouse(mouse) => {
            model.ui.mouse = mouse;
            terminal::report_mouse(mouse)?;
        }
        LookChange::Notify(notify) => model.ui.notifies = Some(notify),
    }
    if let Some(path) = stored
        && let Err(error) = Looks::remember(path, change)
    {
        let text = format!("this is not remembered: {error}");
        model.ui.toast(Tone::Bad, text, model.now_ms);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_kept_one_by_one_and_a_damaged_file_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ralph/screen.json");
        Looks::remember(&path, LookChange::Theme(Palette::Light)).unwrap();
        Looks::remember(&path, LookChange::Mouse(false)).unwrap();
        let expected = Looks {
            theme: Some(Palette::Light),
            mouse: Some(false),
            ..Looks::default()
        };
        assert_eq!(Looks::read(&path), expected);
        fs::write(&path, "{\"theme\": \"pink\"").unwrap();
        assert_eq!(Looks::read(&path), Looks::default());
    }
}
