//! Any bytes as a document of near duplicates: one that comes back as it was and has similarities from 0 to 1, or none.
#![no_main]

// The package for Python, which has it, is no library that a program can link.
#[allow(dead_code)]
#[path = "../../python/src/near/document.rs"]
mod document;

use document::{Document, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|two: (&[u8], &[u8])| {
    let Some(one) = Document::decode(two.0) else { return };
    assert_eq!(encode(&one.older, &one.shingles), two.0);
    assert_eq!(one.shingles.similarity(&one.shingles), 1.0);
    for (band, _) in &one.older {
        assert!(one.older_of((*band).into()).is_some());
    }
    let Some(other) = Document::decode(two.1) else { return };
    let similarity = one.shingles.similarity(&other.shingles);
    assert!((0.0..=1.0).contains(&similarity));
    assert_eq!(similarity, other.shingles.similarity(&one.shingles));
});
