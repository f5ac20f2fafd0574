//! Which images stay images.

use std::collections::HashMap;

use crate::slice::Slice;

/// Most images in one context.
const MAX_IMAGES: usize = 20;
/// Most bytes of images (as base64) in one context.
const MAX_BYTES: usize = 20 << 20;
/// Turns, the newest included, whose images stay.
const MAX_TURNS: usize = 10;

/// By message: how many of its oldest images give way to a reference. Providers limit count and
/// bytes whatever the tokens (BR-081); an image many turns back is a memory, not a view (BR-103).
///
/// The newest user message's images count and always stay.
pub(crate) fn replaced(slice: &Slice<'_>) -> HashMap<usize, usize> {
    let mut replaced = HashMap::new();
    let (mut count, mut bytes, mut turns) = (0, 0, 1);
    for index in slice.indices().rev() {
        let Some(body) = slice.body(index) else {
            continue;
        };
        let is_newest_user = slice.newest_user() == Some(index);
        let images: Vec<_> = body.images().collect();
        for (rest, image) in images.into_iter().enumerate().rev() {
            count += 1;
            bytes += image.span.len();
            let fits = count <= MAX_IMAGES && (bytes <= MAX_BYTES || count == 1);
            if !(is_newest_user || fits && turns <= MAX_TURNS) {
                replaced.insert(index, rest + 1);
                break;
            }
        }
        if slice.starts_turn(index) {
            turns += 1;
        }
    }
    replaced
}
