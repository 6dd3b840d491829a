//! The part of a table that lookups read: resident groups and index, layouts of units, fences and locator, in one allocation. A layout lies
//! near the pointer to its group: a lookup knows the words to probe before it has the group, so that the cache misses of both overlap.

use std::sync::Arc;

use springbloom_filter::ProbeLayout;

use crate::keys::FencesRef;
use crate::lookup::group_cell::GroupCell;
use crate::lookup::table_index::TableIndex;
use crate::lookup::unsafe_thin_arc::{Count, Lengths, ThinArc};
use crate::names::TableId;
use crate::table_spec::TableSpec;
use crate::visits::VisitBuffer;

/// What all open tables share.
pub(crate) struct Lookups {
    pub visits: Arc<VisitBuffer>,
    /// Reserved for what the host keeps for a reader.
    pub reader_bytes: usize,
}

/// The head of the allocation; cells, the place of the index, layouts, packed fences and locator follow.
pub(crate) struct TableHead {
    pub count: Count,
    lookups: Arc<Lookups>,
    id: TableId,
    /// The table's place in the registry.
    slot: u32,
    /// Number of the registration; no other has it.
    generation: u32,
    pub segments: u32,
    fence_bytes: u32,
    locator_bytes: u16,
    /// Whether there is a place for an index.
    pub has_index: bool,
}

impl TableHead {
    /// Bytes of layouts, fences and locator.
    pub(crate) fn bytes(&self) -> usize {
        self.layouts_bytes() + self.fence_bytes as usize + usize::from(self.locator_bytes)
    }

    fn layouts_bytes(&self) -> usize {
        self.segments as usize * LAYOUT_BYTES
    }
}

/// Bytes of a segment's [`ProbeLayout`].
const LAYOUT_BYTES: usize = size_of::<ProbeLayout>();

/// A known table. The registry and each open reader hold a clone.
#[derive(Clone)]
pub(crate) struct TableShared(pub(super) ThinArc<TableHead>);

impl TableShared {
    /// Most bytes of a locator.
    pub(crate) const LOCATOR_BYTES_MAX: usize = u16::MAX as usize;

    pub(crate) fn new(slot: u32, generation: u32, spec: &TableSpec, lookups: Arc<Lookups>) -> Self {
        let layouts = spec.shapes.iter().map(|&shape| ProbeLayout::new(shape).to_bits().to_ne_bytes());
        let layouts = layouts.collect::<Vec<_>>();
        let bytes = [layouts.as_flattened(), spec.fences.packed(), spec.locator].concat();
        let index = || TableIndex::new(spec.index_bytes);
        let head = TableHead {
            count: Count::default(),
            lookups,
            id: spec.id,
            slot,
            generation,
            segments: spec.fences.len() as u32,
            fence_bytes: spec.fences.packed().len() as u32,
            locator_bytes: spec.locator.len() as u16,
            has_index: spec.index_bytes > 0,
        };
        Self(ThinArc::new(head, GroupCell::default, index, &bytes))
    }

    /// Bytes of such a table.
    pub(crate) fn bytes_for(spec: &TableSpec) -> usize {
        let items = spec.fences.len();
        let bytes = items * LAYOUT_BYTES + spec.fences.packed().len() + spec.locator.len();
        ThinArc::<TableHead>::bytes_for(Lengths { items, further: (spec.index_bytes > 0).into(), bytes })
    }

    /// Bytes of this table.
    pub(crate) fn bytes(&self) -> usize {
        self.0.allocated_bytes()
    }

    pub(crate) fn id(&self) -> TableId {
        self.0.head().id
    }

    #[inline]
    pub(crate) fn lookups(&self) -> &Arc<Lookups> {
        &self.0.head().lookups
    }

    /// The table's place in the registry.
    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.0.head().slot
    }

    /// Number among all tables ever known, never used twice.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.0.head().generation
    }

    #[inline]
    pub(crate) fn fences(&self) -> FencesRef<'_> {
        let head = self.0.head();
        FencesRef::new(&self.0.bytes()[head.layouts_bytes()..][..head.fence_bytes as usize], head.segments)
    }

    /// Where the table's source finds it.
    pub(crate) fn locator(&self) -> &[u8] {
        let head = self.0.head();
        &self.0.bytes()[head.layouts_bytes() + head.fence_bytes as usize..]
    }

    /// Layout of a segment's units.
    #[inline]
    pub(crate) fn layout(&self, segment: u32) -> Option<ProbeLayout> {
        let (layouts, _) = self.0.bytes()[..self.0.head().layouts_bytes()].as_chunks();
        layouts.get(segment as usize).and_then(|&bits| ProbeLayout::from_bits(u32::from_ne_bytes(bits)).ok())
    }

    /// The place of its index, if the budget may hold it.
    #[inline]
    pub(crate) fn index(&self) -> Option<&TableIndex> {
        self.0.further().first()
    }

    /// One cell per segment.
    #[inline]
    pub(crate) fn cells(&self) -> &[GroupCell] {
        self.0.items()
    }

    /// Units of a segment in memory now; 0 for an unknown one.
    pub(crate) fn resident_units(&self, segment: u32) -> u8 {
        self.cells().get(segment as usize).map_or(0, GroupCell::resident_units)
    }

    /// Whether no reader has the table open. The caller's clone does not count.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_unique()
    }
}
