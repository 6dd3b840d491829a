//! Changes that depend on what the index holds. Writers wait meanwhile, so no other change comes between the lookup and the write.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use springbloom_page_device::{AnswerMemory, FlashError};

use crate::store::FlashIndex;

impl FlashIndex {
    /// Puts the pairs whose keys are absent. Returns the value of each key that was there; of equal keys, the first pair counts. If one
    /// pair is too long, none is put. Durable after the next [`commit`](Self::commit). Cost: [`get_many`](Self::get_many), and
    /// [`put_many`](Self::put_many) of the new pairs.
    pub fn put_absent_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>, FlashError> {
        pairs.iter().try_for_each(|(key, value)| self.check_lengths(key, value))?;
        let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| *key).collect();
        let mut writer = self.writer.lock();
        let mut found = self.get_many(&keys)?;
        let mut memory = AnswerMemory::new(keys.len())?;
        let mut put: FxHashMap<&[u8], &[u8]> = FxHashMap::default();
        for ((key, value), found) in pairs.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            match put.entry(key) {
                Entry::Occupied(first) => *found = Some(memory.copied(first.get(), 0)?),
                Entry::Vacant(vacant) => {
                    self.put_with(&mut writer, key, value)?;
                    vacant.insert(value);
                }
            }
        }
        Ok(found)
    }

    /// Deletes `key` and returns the value that it had. Writes nothing if it is absent. Durable after the next [`commit`](Self::commit).
    pub fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FlashError> {
        let mut writer = self.writer.lock();
        let found = self.get(key)?;
        if found.is_some() {
            self.delete_with(&mut writer, key)?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IndexMemory, IndexSettings};
    use springbloom_flash_testkit::{SimPower, SimStorage};

    #[test]
    fn only_absent_keys_are_put_and_of_equal_ones_the_first() {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let index =
            FlashIndex::create_in(storage, IndexSettings::new(0), IndexMemory::standard(), 1).unwrap();
        index.put(b"old", b"1").unwrap();
        let pairs: [(&[u8], &[u8]); 3] = [(b"old", b"2"), (b"new", b"3"), (b"new", b"4")];
        let found = index.put_absent_many(&pairs).unwrap();
        assert_eq!(found, [Some(b"1".to_vec()), None, Some(b"3".to_vec())]);
        assert_eq!(index.get(b"old").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(index.get(b"new").unwrap().as_deref(), Some(&b"3"[..]));
        let records = index.info().records;
        assert_eq!(index.remove(b"new").unwrap().as_deref(), Some(&b"3"[..]));
        assert_eq!(index.remove(b"new").unwrap(), None);
        assert_eq!(index.info().records, records + 1, "nothing is written for an absent key");
    }
}
