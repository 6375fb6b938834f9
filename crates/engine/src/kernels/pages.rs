//! Memory of large pages, for weights that every text reads from end to end.

use super::lanes::Lanes;

/// Numbers that lie in large pages as far as they fill some and the system has them to give.
///
/// A page of four kibibytes costs a walk through the system's tables whenever another was read in between, hints for
/// the cache are dropped where the walk is not done, and under virtualisation each walk is several.
#[derive(Debug)]
pub(crate) struct Pages<R>(imp::Memory<R>);

impl<R> Pages<R> {
    /// Bytes of all numbers.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len() * size_of::<R>()
    }
}

impl<R: Lanes> Pages<R> {
    /// A block of so many zeros, in large pages where there are any.
    pub(crate) fn zeros(len: usize) -> Self {
        Self(imp::Memory::zeros(len))
    }

    /// All numbers of the block.
    pub(crate) fn as_slice(&self) -> &[R] {
        self.0.as_slice()
    }

    /// All numbers of the block. for writing.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [R] {
        self.0.as_mut_slice()
    }
}

/// Everywhere else the allocator's memory serves.
#[cfg(any(not(target_os = "linux"), miri))]
mod imp {
    #[derive(Debug)]
    pub(super) struct Memory<R>(Vec<R>);

    impl<R> Memory<R> {
        pub(super) fn len(&self) -> usize {
            self.0.len()
        }
    }

    impl<R: super::Lanes> Memory<R> {
        pub(super) fn zeros(len: usize) -> Self {
            Self(vec![R::default(); len])
        }

        pub(super) fn as_slice(&self) -> &[R] {
            &self.0
        }

        pub(super) fn as_mut_slice(&mut self) -> &mut [R] {
            &mut self.0
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use memmap2::{Advice, MmapMut};

    /// Bytes of a large page of x86 and, with small pages of four kibibytes, of ARM.
    const LARGE: usize = 2 << 20;

    #[derive(Debug)]
    pub(super) enum Memory<R> {
        /// A map and where the numbers begin in it; they end with it.
        Large { map: MmapMut, first: usize, len: usize },
        /// Too few numbers to fill a page, or the system gave no map.
        Small(Vec<R>),
    }

    impl<R> Memory<R> {
        pub(super) fn len(&self) -> usize {
            match self {
                Self::Large { len, .. } => *len,
                Self::Small(numbers) => numbers.len(),
            }
        }
    }

    impl<R: super::Lanes> Memory<R> {
        pub(super) fn zeros(len: usize) -> Self {
            let bytes = len * size_of::<R>();
            let map = if bytes < LARGE { None } else { MmapMut::map_anon(bytes + LARGE).ok() };
            let Some(map) = map else { return Self::Small(vec![R::default(); len]) };
            let first = map.as_ptr().align_offset(LARGE);
            // What does not fill a page stays in small ones, so that no more memory is taken than was booked. A system
            // without large pages does it all with small ones.
            let _ = map.advise_range(Advice::HugePage, first, bytes - bytes % LARGE);
            Self::Large { map, first, len }
        }

        #[allow(unsafe_code, reason = "a map is bytes")]
        pub(super) fn as_slice(&self) -> &[R] {
            match self {
                Self::Small(numbers) => numbers,
                Self::Large { map, first, len } => {
                    let bytes = &map[*first..][..len * size_of::<R>()];
                    // SAFETY: as many bytes as so many numbers have, aligned to a page; the map began as zeros, every
                    // bit pattern is a number, and only numbers are written.
                    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), *len) }
                }
            }
        }

        #[allow(unsafe_code, reason = "a map is bytes")]
        pub(super) fn as_mut_slice(&mut self) -> &mut [R] {
            match self {
                Self::Small(numbers) => numbers,
                Self::Large { map, first, len } => {
                    let bytes = &mut map[*first..][..*len * size_of::<R>()];
                    // SAFETY: as above, and borrowed for writing.
                    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), *len) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few numbers and more than a large page of them: zeros first, then what was written, and all of them.
    #[test]
    fn pages_hold_what_is_written() {
        let page = (2 << 20) / size_of::<f64>();
        for len in [0, 1, page - 1, page, page + 5, 2 * page + 1] {
            let mut pages = Pages::<f64>::zeros(len);
            assert_eq!((pages.as_slice().len(), pages.bytes()), (len, 8 * len));
            assert!(pages.as_slice().iter().all(|&x| x.to_bits() == 0), "{len} zeros");
            pages.as_mut_slice().iter_mut().enumerate().for_each(|(i, x)| *x = i as f64);
            assert!(pages.as_slice().iter().enumerate().all(|(i, &x)| x == i as f64), "{len} numbers");
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn what_fills_a_large_page_begins_one() {
        let pages = Pages::<f32>::zeros(1 << 20);
        assert_eq!(pages.as_slice().as_ptr().align_offset(2 << 20), 0);
    }
}
