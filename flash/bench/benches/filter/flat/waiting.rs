//! Bits that wait in memory for their pages, and which pages are written next.

use std::ops::Range;

use springbloom_flash_filter::{BufferSettings, FlushPolicy, MemorySize};

use super::Place;

/// Bits that the list of a page grows by.
const STEP: usize = 16;

pub(super) struct Waiting {
    /// For each page, the bits that wait, as numbers in the page.
    pages: Vec<Vec<u16>>,
    /// For each group of pages, how many bits wait.
    groups: Vec<u32>,
    group_pages: u32,
    policy: FlushPolicy,
    /// The group that the sequential order wrote last.
    cursor: usize,
    bits: u64,
    bits_max: u64,
    bytes: u64,
    bytes_max: u64,
}

impl Waiting {
    /// Room for the bits of `pages` pages. `other_bytes` of a memory in bytes are taken by something else.
    pub(super) fn new(pages: u32, buffer: &BufferSettings, other_bytes: u64) -> Waiting {
        let groups = vec![0; pages.div_ceil(buffer.group_pages) as usize];
        let pages = vec![Vec::new(); pages as usize];
        let tables_bytes = size_of_val(&pages[..]) + size_of_val(&groups[..]);
        let (bits_max, bytes_max) = match buffer.memory {
            MemorySize::Bytes(bytes) => (u64::MAX, bytes.saturating_sub(other_bytes + tables_bytes as u64)),
            MemorySize::CacheSizeFactor(factor) => (u64::from(factor) * pages.len() as u64, u64::MAX),
        };
        let (group_pages, policy) = (buffer.group_pages, buffer.policy);
        Waiting { pages, groups, group_pages, policy, cursor: 0, bits: 0, bits_max, bytes: 0, bytes_max }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// Whether more waits than the memory allows.
    pub(super) fn is_too_much(&self) -> bool {
        self.bits > self.bits_max || self.bytes > self.bytes_max
    }

    pub(super) fn contains(&self, place: Place) -> bool {
        self.pages[place.page as usize].contains(&place.bit)
    }

    pub(super) fn insert(&mut self, place: Place) {
        if self.contains(place) {
            return;
        }
        let list = &mut self.pages[place.page as usize];
        if list.len() == list.capacity() {
            let before = list.capacity();
            list.reserve_exact(STEP);
            self.bytes += ((list.capacity() - before) * size_of::<u16>()) as u64;
        }
        list.push(place.bit);
        self.groups[(place.page / self.group_pages) as usize] += 1;
        self.bits += 1;
    }

    /// Takes out the bits of a page.
    pub(super) fn take(&mut self, page: u32) -> Vec<u16> {
        let list = std::mem::take(&mut self.pages[page as usize]);
        self.groups[(page / self.group_pages) as usize] -= list.len() as u32;
        self.bits -= list.len() as u64;
        self.bytes -= (list.capacity() * size_of::<u16>()) as u64;
        list
    }

    /// The next `count` groups that the policy writes, as runs of pages. Like the flash filter, a run includes a single clean page
    /// between two dirty ones of a group.
    pub(super) fn next_runs(&mut self, count: usize) -> Vec<Range<u32>> {
        let mut runs: Vec<Range<u32>> = Vec::new();
        for group in self.next_groups(count) {
            let first = group as u32 * self.group_pages;
            let end = self.pages.len().min((first + self.group_pages) as usize) as u32;
            for page in (first..end).filter(|page| !self.pages[*page as usize].is_empty()) {
                match runs.last_mut() {
                    Some(run) if page == run.end || page == run.end + 1 && run.end > first => {
                        run.end = page + 1;
                    }
                    _ => runs.push(page..page + 1),
                }
            }
        }
        runs
    }

    /// In the order of the file.
    fn next_groups(&mut self, count: usize) -> Vec<usize> {
        let all = self.groups.len();
        let in_turn = (1..=all).map(|n| (self.cursor + n) % all);
        let mut dirty: Vec<usize> = in_turn.filter(|group| self.groups[*group] > 0).collect();
        if self.policy == FlushPolicy::DirtiestGroupFirst && dirty.len() > count {
            dirty.select_nth_unstable_by_key(count, |group| std::cmp::Reverse(self.groups[*group]));
        }
        dirty.truncate(count);
        if self.policy == FlushPolicy::Sequential {
            self.cursor = dirty.last().copied().unwrap_or(self.cursor);
        }
        dirty.sort_unstable();
        dirty
    }
}
