//! Checkpoints: a manifest of what is durable, from which the next opening starts. The files of a clean close belong to the last one.

use springbloom_page_device::{FlashError, Watch, require_writable};

use crate::block_file::BlockKey;
use crate::manifest::{INDEX_VERSION, Manifest};
use crate::pending_file;
use crate::prefilter_file;
use crate::store::FlashIndex;
use crate::writer::Writer;

impl FlashIndex {
    /// Writes to the write-ahead log that the index is open, with a new epoch. Called before the first change. After a crash, the next
    /// opening sees the mark and looks for torn sectors.
    pub(crate) fn mark_open(&self, writer: &mut Writer) -> Result<(), FlashError> {
        require_writable(&*self.storage)?;
        if !writer.is_marked_open {
            self.grow_log()?;
            let epoch = writer.epoch;
            let committed = self.commits.commit(|next| (next.epoch, next.is_closed) = (epoch, false));
            committed.inspect_err(|_| self.log.device.mark_failed())?;
            writer.is_marked_open = true;
        }
        if writer.version < INDEX_VERSION {
            // Before there is any record that programs of that version cannot read.
            self.write_checkpoint(writer, false).inspect_err(|_| self.log.device.mark_failed())?;
        }
        Ok(())
    }

    /// Writes the pending entries and the pre-filters for the manifest that closes the index, which is the next one. Tells `watch` the
    /// bytes.
    pub(crate) fn write_closing_files(
        &self,
        writer: &Writer,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let (table, closing) =
            (self.table.read(), BlockKey { salt: self.salt, sequence: writer.sequence + 1 });
        watch.expect(writer.pending_entries * pending_file::ENTRY_BYTES as u64 + table.filter_bytes());
        pending_file::write(&*self.storage, closing, &table, watch)?;
        prefilter_file::write(&*self.storage, closing, &table, watch)
    }

    /// Makes everything durable and writes a manifest for the next opening. `closes` is true for the last checkpoint of a clean close.
    pub(crate) fn checkpoint(&self, writer: &mut Writer, closes: bool) -> Result<(), FlashError> {
        self.mark_open(writer)?;
        let checkpointed = self.write_checkpoint(writer, closes);
        // After a failure the state of the manifest on the device is unknown, so no further write is allowed.
        checkpointed.inspect_err(|_| self.log.device.mark_failed())
    }

    fn write_checkpoint(&self, writer: &mut Writer, closes: bool) -> Result<(), FlashError> {
        let end = self.log.seal()?;
        let page = end.page;
        self.log.sync_to(page)?;
        self.buckets.sync()?;
        let sequence = writer.sequence + 1;
        let manifest = {
            let (table, zones) = (self.table.read(), self.log.zones.read());
            Manifest {
                version: INDEX_VERSION,
                sequence,
                salt: self.salt,
                settings: self.settings,
                replay_page: writer.replay_page,
                counted_page: page,
                is_closing: closes,
                bucket_version: writer.bucket_version,
                bucket_slots: writer.bucket_slots,
                zone_slots: zones.slots,
                free_zone_slots: zones.free_after_checkpoint().collect(),
                zones: zones.live.iter().map(|(number, zone)| (*number, *zone)).collect(),
                partitions: table.ordered().map(|p| (p.depth, p.bucket())).collect(),
            }
        };
        let written = manifest.write(&*self.storage)?;
        self.counters.manifest_bytes_written.add(written);
        // This commit makes the manifest valid.
        self.commits.commit(|next| (next.sequence, next.is_closed, next.end) = (sequence, closes, end))?;
        self.group_commit.mark_durable(writer.appended);
        (writer.sequence, writer.version, writer.checkpoint_page) = (sequence, INDEX_VERSION, page);
        writer.is_marked_open = !closes;
        writer.free_slots.append(&mut writer.returned_slots);
        self.log.zones.write().checkpointed();
        Ok(())
    }
}
