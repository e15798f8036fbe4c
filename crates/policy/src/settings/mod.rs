//! The engine for everything that users configure: configuration files, variables, flags, goals and adapters.
//!
//! A setting is declared once, as a row of `settings!`: its doc comment is its description, its type is a [`Grammar`],
//! its default has the syntax of a file. Defaults, checks, JSON Schema, the example file, variables and flags are all
//! derived from the row. serde is not used: it stops at the first mistake, and knows neither layers nor the position of
//! a value.
//!
//! A written value becomes a [`Node`], which knows its [`SettingOrigin`]. A layer is checked by itself and split into
//! [`Leaf`]s. [`Merged`] combines the leaves of all layers, key by key.

mod appended;
mod choices;
mod declaration;
mod describe;
mod duration;
mod grammar;
mod groups;
mod json;
mod layer;
mod layered;
mod merged;
mod mistake;
mod nearest;
mod node;
mod numbers;
mod optional;
mod origin;
mod record;
#[cfg(any(test, feature = "testing"))]
pub mod reference;
mod template;
mod texts;
mod toml;

pub use self::toml::from_toml;
pub use appended::appended;
pub use declaration::{Field, FlagDeclaration, SettingForm, ValueKind};
pub use describe::{example, group_schema, schema};
pub use duration::{format_duration, parse_duration};
pub use grammar::{Grammar, accept, accept_or, all, json_if, value_kind};
pub use groups::{OpenGroup, SettingsSection};
pub use json::from_json;
pub use layer::{Layer, Leaf, SettingKeys, Terms};
pub use layered::{Catalog, CatalogError, LayerError, ManifestKind, parse_template};
pub use merged::Merged;
pub use mistake::{Mistake, Mistakes};
pub use nearest::closest;
pub use node::{Node, NodeShape};
pub use numbers::{Amount, BigCount, Duration, Percent, PositiveCount, Switch, WholeNumber};
pub use optional::{Limit, Maybe, OptionalLimit};
pub use origin::{OriginFinder, SettingOrigin};
pub use record::{RecordReader, SettingsRecord, read_item};
pub use template::{PlaceholderSet, TemplatePart, TextTemplate, UnknownPlaceholder};
pub use texts::{
    AnyText, FilePath, NameList, NamedChoice, OneOf, Prose, Sample, SingleLine, SomeOf, TextList, on_one_line,
};
