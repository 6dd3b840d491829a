//! Lookups of one key or of many.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;

use springbloom_filter::KeyDigest;

use crate::filter::{FlashFilter, State};
use crate::geometry::PAGE_BYTES_MAX;
use crate::geometry::Update;
use crate::layer::Layer;
use crate::page::{PageAnswer, SectorChecks};
use crate::page_cache::Ticket;
use crate::state::updates_of;
use springbloom_page_device::{AlignedBuf, Span};

thread_local! {
    /// Page buffer of single lookups.
    static PAGE: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::new(PAGE_BYTES_MAX as usize));
}

/// A key of a batch, and one page that may hold it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    page: u32,
    key: u32,
    value: u64,
}

/// Updates that are not in their pages: pending ones, and those of a log that this process may not apply.
struct Unwritten<'s> {
    /// Number of the filter that they belong to.
    newest: usize,
    state: &'s State,
    of_log: HashSet<Update>,
}

impl Unwritten<'_> {
    /// Whether `update` of filter number `layer` is among them.
    fn contains(&self, layer: usize, update: Update) -> bool {
        layer == self.newest && (self.state.pending.contains(update) || self.of_log.contains(&update))
    }
}

impl FlashFilter {
    /// Whether `digest` may have been inserted. "No" is certain. Reads one page, unless the key is pending in memory (two pages with two
    /// choices; the same for each filter of a chain). Unreadable data answers "may match".
    pub fn contains(&self, digest: KeyDigest) -> bool {
        let state = self.state();
        self.counters.lookups.add(1);
        let unwritten = self.unwritten(&state, &[digest]);
        (0..state.layers.len()).rev().any(|layer| self.ask_one(&unwritten, layer, digest))
    }

    /// [`FlashFilter::contains`] for every digest, in order, with many reads in flight. Keys in the same page share a read. Takes up to 48
    /// bytes of memory per digest, for 256 to 16,384 digests at a time, as the memory of the filter allows.
    pub fn contains_many(&self, digests: &[KeyDigest]) -> Vec<bool> {
        let state = self.state();
        self.contains_in(&state, state.layers.len(), digests)
    }

    /// The same in the first `filters` filters of the chain.
    pub(crate) fn contains_in(&self, state: &State, filters: usize, digests: &[KeyDigest]) -> Vec<bool> {
        self.counters.lookups.add(digests.len() as u64);
        let mut answers = vec![false; digests.len()];
        for (digests, answers) in digests.chunks(self.lookup_keys).zip(answers.chunks_mut(self.lookup_keys)) {
            let unwritten = self.unwritten(state, digests);
            (0..filters).rev().for_each(|number| self.ask_pages_of(&unwritten, number, digests, answers));
        }
        answers
    }

    /// Updates for these keys that are not in their pages.
    fn unwritten<'s>(&self, state: &'s State, digests: &[KeyDigest]) -> Unwritten<'s> {
        let mut of_log = HashSet::new();
        if self.reads_log {
            let geometry = state.newest().header.geometry;
            let places =
                |digest| (0..geometry.reads_per_lookup_max()).map(move |n| geometry.place(digest, n));
            let asked: HashSet<Update> = digests.iter().flat_map(|digest| places(*digest)).collect();
            let read = self.wal.lock().scan(&mut |commit| {
                of_log.extend(updates_of(commit).filter(|update| asked.contains(update)));
                Ok(())
            });
            if read.is_err() {
                // The log was readable at opening. Without it, every key may match.
                self.counters.failed_reads.add(1);
                of_log = asked;
            }
        }
        Unwritten { newest: state.layers.len() - 1, state, of_log }
    }

    fn ask_one(&self, unwritten: &Unwritten<'_>, number: usize, digest: KeyDigest) -> bool {
        let layer = &*unwritten.state.layers[number];
        let geometry = &layer.header.geometry;
        let mut places = (0..geometry.reads_per_lookup_max()).map(|n| geometry.place(digest, n));
        if places.clone().any(|place| unwritten.contains(number, place)) {
            self.counters.pending_hits.add(1);
            return true;
        }
        places.any(|place| self.ask_page(layer, place))
    }

    /// Reads the page of `place` and probes it.
    fn ask_page(&self, layer: &Layer, place: Update) -> bool {
        let answer = self.read_and_ask(layer, place);
        match answer {
            Ok(answer) if !answer.damaged => answer.may_match,
            _ => self.ask_again(layer, place),
        }
    }

    fn read_and_ask(&self, layer: &Layer, place: Update) -> io::Result<PageAnswer> {
        let name = layer.page_name(place.page);
        let ticket =
            match self.cache.ask(name, |bytes| ask(layer, place, bytes, &mut SectorChecks::default())) {
                Ok(answer) => return Ok(answer),
                Err(ticket) => ticket,
            };
        self.counters.lookup_page_reads.add(1);
        PAGE.with_borrow_mut(|buf| {
            let span = layer.span(place.page);
            let bytes = &mut buf[..span.len_bytes];
            layer.device.read_at(span.offset, bytes)?;
            self.cache.keep(ticket.as_ref(), name, bytes);
            Ok(ask(layer, place, bytes, &mut SectorChecks::default()))
        })
    }

    /// Reads a page again while nobody writes, after a failed checksum: it was being written, or it is damaged. Answers "may match" if it
    /// fails again.
    fn ask_again(&self, layer: &Layer, place: Update) -> bool {
        let _quiet = layer.writing.lock();
        match self.read_and_ask(layer, place) {
            Ok(answer) => {
                self.counters.damaged_answers.add(u64::from(answer.damaged));
                answer.may_match
            }
            Err(_) => {
                self.counters.failed_reads.add(1);
                true
            }
        }
    }

    /// Probes every page of every key without an answer.
    fn ask_pages_of(
        &self,
        unwritten: &Unwritten<'_>,
        number: usize,
        digests: &[KeyDigest],
        answers: &mut [bool],
    ) {
        let layer = &*unwritten.state.layers[number];
        let geometry = &layer.header.geometry;
        let mut questions = Vec::with_capacity(digests.len());
        for (key, (digest, answer)) in digests.iter().zip(answers.iter_mut()).enumerate() {
            if *answer {
                continue;
            }
            let places = (0..geometry.reads_per_lookup_max()).map(|n| geometry.place(*digest, n));
            if places.clone().any(|place| unwritten.contains(number, place)) {
                self.counters.pending_hits.add(1);
                *answer = true;
            } else {
                questions.extend(places.map(|place| Question {
                    page: place.page,
                    key: key as u32,
                    value: place.value,
                }));
            }
        }
        self.ask_all(layer, &mut questions, &mut |key, may_match| answers[key] |= may_match);
    }

    /// Reads each page once and answers all questions about it.
    fn ask_all(&self, layer: &Layer, questions: &mut [Question], answer: &mut dyn FnMut(usize, bool)) {
        questions.sort_unstable();
        let mut again = Vec::new();
        let mut ask_page = |of_page: &[Question], page: Option<&[u8]>| {
            let mut checks = SectorChecks::default();
            for question in of_page {
                let place = Update { page: question.page, value: question.value };
                match page.map(|bytes| ask(layer, place, bytes, &mut checks)) {
                    Some(PageAnswer { may_match, damaged: false }) => {
                        answer(question.key as usize, may_match)
                    }
                    _ => again.push(*question),
                }
            }
        };
        // Allocated at once, because growing lists fragment the heap. Without a cache, tickets take no memory.
        let mut unread: Vec<&[Question]> = Vec::with_capacity(questions.len());
        let mut tickets: Vec<Ticket> = Vec::new();
        for of_page in questions.chunk_by(|a, b| a.page == b.page) {
            let name = layer.page_name(of_page[0].page);
            if let Err(ticket) = self.cache.ask(name, |bytes| ask_page(of_page, Some(bytes))) {
                unread.push(of_page);
                tickets.extend(ticket);
            }
        }
        let spans: Vec<Span> = unread.iter().map(|of_page| layer.span(of_page[0].page)).collect();
        self.counters.lookup_page_reads.add(spans.len() as u64);
        layer.device.read_each(&spans, &mut |i, page| {
            let of_page = unread[i];
            let page = page.ok();
            if let Some(bytes) = page {
                self.cache.keep(tickets.get(i), layer.page_name(of_page[0].page), bytes);
            }
            ask_page(of_page, page);
        });
        for question in again {
            let place = Update { page: question.page, value: question.value };
            answer(question.key as usize, self.ask_again(layer, place));
        }
    }
}

fn ask(layer: &Layer, place: Update, bytes: &[u8], checks: &mut SectorChecks) -> PageAnswer {
    layer.codec.query(u64::from(place.page), bytes, layer.header.geometry.bits_of(place.value), checks)
}
