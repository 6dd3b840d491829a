//! A code for numbers of one kind, most of which are near their median.

use crate::bits::{BitReader, BitWriter};

/// Of ones, before a number that is written as it is.
const ESCAPE: u32 = 20;
const PLAIN_BITS: u32 = 34;

/// Rice's code of the distance from the median, or nothing where all numbers are the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    median: u32,
    /// Of the distance, as they are.
    low_bits: Option<u32>,
}

/// 0, -1, 1, -2, 2, ...
fn folded(distance: i64) -> u64 {
    ((distance << 1) ^ (distance >> 63)) as u64
}

fn unfolded(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

impl Code {
    /// The one that writes these numbers in the fewest bits.
    pub(crate) fn of(mut numbers: Vec<u32>) -> Self {
        let middle = numbers.len() / 2;
        if numbers.is_empty() {
            return Self { median: 0, low_bits: None };
        }
        let median = *numbers.select_nth_unstable(middle).1;
        if numbers.iter().all(|&number| number == median) {
            return Self { median, low_bits: None };
        }
        let bits = |low_bits: u32| {
            let code = Self { median, low_bits: Some(low_bits) };
            numbers.iter().map(|&number| u64::from(code.bits(number))).sum::<u64>()
        };
        Self { median, low_bits: (0..32).min_by_key(|&low_bits| bits(low_bits)) }
    }

    fn distance(&self, number: u32) -> u64 {
        folded(i64::from(number) - i64::from(self.median))
    }

    fn bits(&self, number: u32) -> u32 {
        let Some(low_bits) = self.low_bits else { return 0 };
        let ones = self.distance(number) >> low_bits;
        if ones < u64::from(ESCAPE) { ones as u32 + 1 + low_bits } else { ESCAPE + PLAIN_BITS }
    }

    pub(crate) fn write(&self, number: u32, to: &mut BitWriter) {
        let Some(low_bits) = self.low_bits else { return };
        let distance = self.distance(number);
        let ones = distance >> low_bits;
        if ones < u64::from(ESCAPE) {
            to.put(u64::MAX - 1, ones as u32 + 1);
            to.put(distance, low_bits);
        } else {
            to.put(u64::MAX, ESCAPE);
            to.put(distance, PLAIN_BITS);
        }
    }

    #[inline]
    pub(crate) fn read(&self, from: &mut BitReader<'_>) -> u32 {
        let Some(low_bits) = self.low_bits else { return self.median };
        // It has all bits of a number that is no escape.
        let word = from.word();
        let ones = word.leading_ones();
        let distance = if ones < ESCAPE {
            from.skip((ones + 1 + low_bits) as usize);
            // Shifted twice, as there may be no low bits.
            u64::from(ones) << low_bits | word << (ones + 1) >> 1 >> (63 - low_bits)
        } else {
            from.skip(ESCAPE as usize);
            from.take(PLAIN_BITS)
        };
        (i64::from(self.median) + unfolded(distance)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let kinds = [
            vec![],
            vec![7],
            vec![5, 5, 5],
            vec![0, u32::MAX],
            vec![3, 4, 5, 4, 3, 4, 1 << 31],
            (0..1000).collect(),
        ];
        for numbers in kinds {
            let code = Code::of(numbers.clone());
            let mut to = BitWriter::default();
            numbers.iter().for_each(|&number| code.write(number, &mut to));
            let bytes = to.finish();
            let mut from = BitReader::new(&bytes, 0);
            let read: Vec<u32> = numbers.iter().map(|_| code.read(&mut from)).collect();
            assert_eq!(read, numbers);
            let bits: u32 = numbers.iter().map(|&number| code.bits(number)).sum();
            assert_eq!(from.position(), bits as usize);
        }
    }
}
