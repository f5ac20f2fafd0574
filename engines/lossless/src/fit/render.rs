//! Messages as they would be sent, with their cost.

use std::collections::HashMap;
use std::sync::Arc;

use contextwire_engine::Message;
use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_windowed::form::{self, Reader};

use super::item::{Form, Item, Piece, Why};
use super::line::Line;
use super::unit::Unit;
use crate::entry::{Asked, reader_name};

/// Most images in one context; beyond it they give way in steps, so that not every new image changes
/// what was sent before.
const MAX_IMAGES: usize = 20;
const IMAGE_STEP: usize = 10;
/// Most bytes of images (as base64) in one context.
const MAX_IMAGE_BYTES: usize = 20 << 20;

/// How hard a unit is pressed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pressure {
    /// How many of the unit's oldest images give way, beyond those that always do.
    pub(crate) images: usize,
    /// The most that a tool result may cost, in tokens.
    pub(crate) result_limit: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Renderer<'a> {
    pub(crate) lines: &'a [Line],
    pub(crate) family: ModelFamily,
    reader: Reader<'a>,
    name: Arc<str>,
    /// By line: images that give way without any pressure.
    images: HashMap<usize, usize>,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(lines: &'a [Line], family: ModelFamily, reader: Reader<'a>) -> Self {
        Self {
            lines,
            family,
            reader,
            name: reader_name(&reader),
            images: replaced(lines),
        }
    }

    /// The items of a unit, and how much of the pressure on images is left for the next.
    pub(crate) fn unit(&self, unit: &Unit, pressure: &mut Pressure, why: Why) -> Vec<Item> {
        let why = if unit.is_pinned { Why::Pinned } else { why };
        let mut items: Vec<Item> = unit
            .lines
            .iter()
            .filter_map(|line| self.line(*line, pressure, why))
            .collect();
        let caller = unit.lines.first().and_then(|line| self.lines.get(*line));
        if let Some(caller) = caller {
            items.extend(unit.unanswered.iter().map(|id| {
                let message = form::missing_result(caller.entry.message(), id);
                self.invented(message, Why::NoResult)
            }));
        }
        items
    }

    /// A message outside the turns, cleaned and nothing else.
    pub(crate) fn lead(&self, line: &Line) -> Item {
        self.item(line, 0, None, Why::Lead)
    }

    pub(crate) fn invented(&self, message: Message, why: Why) -> Item {
        Item {
            tokens: estimate_message(self.family, &message),
            piece: Piece::Insert(message),
            why,
            form: Form::Invented,
            places: None,
            stands_for: 0,
        }
    }

    /// Images of a line that could still give way.
    pub(crate) fn images_of(&self, line: usize) -> usize {
        let images = self
            .lines
            .get(line)
            .map_or(0, |line| line.entry.look().images);
        images - self.aged(line).min(images)
    }

    fn aged(&self, line: usize) -> usize {
        self.images.get(&line).copied().unwrap_or_default()
    }

    fn line(&self, index: usize, pressure: &mut Pressure, why: Why) -> Option<Item> {
        let line = self.lines.get(index)?;
        let pressed = pressure.images.min(self.images_of(index));
        pressure.images -= pressed;
        let images = self.aged(index) + pressed;
        Some(self.item(line, images, pressure.result_limit, why))
    }

    fn item(&self, line: &Line, images: usize, limit: Option<u32>, why: Why) -> Item {
        let asked = Asked {
            reader: Arc::clone(&self.name),
            images,
            limit,
            family: self.family,
            handle: line.key.logged(),
        };
        let form = line.entry.form(&asked, &self.reader);
        let own = line.entry.message();
        let tokens = estimate_message(self.family, form.as_ref().unwrap_or(own));
        let is_short = limit.is_some_and(|limit| line.entry.tokens(self.family) > limit)
            && form::can_shorten(own);
        let shape = match &form {
            None => Form::Whole,
            Some(_) if is_short => Form::Shortened,
            Some(_) => Form::Cleaned,
        };
        let piece = match (form, line.view) {
            (None, Some(index)) => Piece::Keep(index),
            (None, None) => Piece::Insert(own.clone()),
            (Some(form), _) => Piece::Insert(form),
        };
        Item {
            piece,
            tokens,
            why,
            form: shape,
            places: line
                .key
                .logged()
                .map(|place| crate::Span::new(place, place + 1)),
            stands_for: u64::from(!line.is_extra),
        }
    }
}

/// By line: how many of its oldest images give way to a reference. Providers limit count and bytes
/// whatever the tokens (BR-081). The newest user message's images always stay.
fn replaced(lines: &[Line]) -> HashMap<usize, usize> {
    let mut replaced = HashMap::new();
    let with_images = lines.iter().enumerate().filter(|(_, line)| {
        // Whoever has no image has been looked into once and for all.
        line.entry.look().images > 0
    });
    let with_images: Vec<(usize, usize, usize)> = with_images
        .map(|(index, line)| {
            (
                index,
                line.entry.look().images,
                line.entry.look().image_bytes,
            )
        })
        .collect();
    let total: usize = with_images.iter().map(|(_, images, _)| images).sum();
    let bytes: usize = with_images.iter().map(|(_, _, bytes)| bytes).sum();
    let by_count = total.saturating_sub(MAX_IMAGES).div_ceil(IMAGE_STEP) * IMAGE_STEP;
    let excess = bytes.saturating_sub(MAX_IMAGE_BYTES);
    let newest_user = lines.iter().rposition(Line::is_user);
    let (mut count, mut freed) = (0, 0);
    for (index, images, bytes) in with_images {
        if count >= by_count && freed >= excess {
            break;
        }
        if Some(index) == newest_user {
            continue;
        }
        count += images;
        freed += bytes;
        replaced.insert(index, images);
    }
    replaced
}
