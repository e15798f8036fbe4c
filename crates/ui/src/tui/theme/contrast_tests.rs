//! Tests that every text is legible: WCAG contrast of at least 4.5:1.

use crate::tui::background::luminance;

use super::*;

const TEXT: f64 = 4.5;
/// Minimum contrast of rules and of the rest of a bar: they only have to be visible, since text gives the same
/// information.
const DECORATION: f64 = 1.7;

type Rgb = (u8, u8, u8);

/// Common dark backgrounds: black, Dracula, One Dark, Gruvbox, Solarized, Catppuccin.
const DARK: [Rgb; 7] = [
    (0, 0, 0),
    (18, 18, 18),
    (30, 30, 46),
    (40, 42, 54),
    (40, 44, 52),
    (40, 40, 40),
    (0, 43, 54),
];
/// Common light backgrounds: white, GitHub, One Light, Gruvbox, Catppuccin, Solarized.
const LIGHT: [Rgb; 6] = [
    (255, 255, 255),
    (246, 248, 250),
    (250, 250, 250),
    (251, 241, 199),
    (239, 241, 245),
    (253, 246, 227),
];

const ROLES: [TextRole; 24] = [
    TextRole::Plain,
    TextRole::Dim,
    TextRole::Strong,
    TextRole::Accent,
    TextRole::Good,
    TextRole::Bad,
    TextRole::Wait,
    TextRole::User,
    TextRole::Chosen,
    TextRole::GaugeDone,
    TextRole::GaugeRest,
    TextRole::Added,
    TextRole::Removed,
    TextRole::Hunk,
    TextRole::Match,
    TextRole::CurrentMatch,
    TextRole::Key,
    TextRole::GoodVerdict,
    TextRole::WaitVerdict,
    TextRole::BusyBadge,
    TextRole::WaitingBadge,
    TextRole::AskingBadge,
    TextRole::FailedBadge,
    TextRole::DoneBadge,
];

fn ratio(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The luminance of a colour; `None` if it is the terminal's default.
fn own(colour: Option<Color>) -> Option<f64> {
    match colour {
        Some(Color::Indexed(index @ 16..)) => Some(luminance(indexed_rgb(index))),
        None | Some(Color::Reset) => None,
        Some(other) => panic!("{other:?}: its looks are the terminal's"),
    }
}

/// The contrast of a style on a terminal with this background and text.
fn contrast(style: Style, background: f64, text: f64) -> f64 {
    assert!(!style.add_modifier.contains(Modifier::DIM | Modifier::REVERSED));
    ratio(own(style.fg).unwrap_or(text), own(style.bg).unwrap_or(background))
}

#[test]
fn every_text_can_be_read_on_every_background_that_its_palette_is_for() {
    for (palette, typical, limit, text) in [
        (Palette::Dark, &DARK[..], DARK_UP_TO, (204, 204, 204)),
        (Palette::Light, &LIGHT[..], LIGHT_FROM, (51, 51, 51)),
    ] {
        let theme = Theme::new(palette, Depth::Indexed, false);
        let text = luminance(text);
        let typical = typical.iter().map(|colour| luminance(*colour));
        for (background, is_limit) in typical.map(|colour| (colour, false)).chain([(limit, true)]) {
            assert!(match palette {
                Palette::Dark => background <= DARK_UP_TO,
                _ => background >= LIGHT_FROM,
            });
            for role in ROLES {
                let style = theme.style(role);
                let plain = contrast(style, background, text);
                let least = match role {
                    // Backgrounds at the limit are rare, so a lower contrast is accepted.
                    TextRole::GaugeRest if is_limit => 1.3,
                    TextRole::GaugeRest => DECORATION,
                    _ => TEXT,
                };
                assert!(plain >= least, "{palette:?} {role:?} on {background:.3}: {plain:.2}");
                let chosen = contrast(theme.chosen(style), background, text);
                assert!(chosen >= TEXT, "{palette:?} {role:?} chosen: {chosen:.2}");
            }
        }
    }
}

#[test]
fn a_chosen_row_has_one_background_and_nothing_dim() {
    for palette in [Palette::Dark, Palette::Light, Palette::Sixteen, Palette::Mono] {
        let theme = Theme::new(palette, Depth::Indexed, false);
        let rows = ROLES.map(|role| theme.chosen(theme.style(role)));
        for row in rows {
            assert_eq!(row.bg, rows[0].bg, "{palette:?}");
            assert!(!row.add_modifier.contains(Modifier::DIM), "{palette:?}");
            let reversed = row.add_modifier.contains(Modifier::REVERSED);
            let own_colours = matches!(palette, Palette::Dark | Palette::Light);
            assert_eq!(reversed, !own_colours, "{palette:?}");
            assert!(
                own_colours || row.fg.is_none(),
                "reversed, colours are backgrounds: {palette:?}"
            );
        }
    }
}
