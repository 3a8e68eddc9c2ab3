package register.state;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The values of all registers, and a hash of them that each change updates in constant time. Changed by one thread; the
 * map is concurrent because unsafe reads come from others.
 */
final class Registers {

    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    private final ConcurrentNavigableMap<String, Long> values = new ConcurrentSkipListMap<>();
    private final Map<String, Long> view = Collections.unmodifiableMap(values);
    /** The sum of the registers' hashes, which does not depend on the order of the changes. */
    private long hash;
    /** The size of the map, which itself would count its elements on every call. */
    private int size;

    Registers() {
    }

    Registers(Map<String, Long> values) {
        values.forEach(this::put);
    }

    Long get(String key) {
        return values.get(key);
    }

    void put(String key, long value) {
        Long old = values.put(key, value);
        if (old != null) {
            hash -= hash(key, old);
        } else {
            size++;
        }
        hash += hash(key, value);
    }

    /** Returns a copy of the registers whose keys start with {@code prefix}, in the order of the keys. */
    Map<String, Long> startingWith(String prefix) {
        return new TreeMap<>(values.subMap(prefix, prefix + Character.MAX_VALUE));
    }

    Map<String, Long> view() {
        return view;
    }

    /** Returns the digest of the registers as the state after entry {@code index}. */
    StateMark mark(long index) {
        return new StateMark(index, size, hash);
    }

    private static long hash(String key, long value) {
        long ofKey = FNV_OFFSET;
        for (int i = 0; i < key.length(); i++) {
            ofKey = (ofKey ^ key.charAt(i)) * FNV_PRIME;
        }
        return mix(mix(ofKey) + value);
    }

    /** The finalizer of SplitMix64: every bit of the result depends on every bit of {@code bits}. */
    static long mix(long bits) {
        long z = bits + 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }
}
