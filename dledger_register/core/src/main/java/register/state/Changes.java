package register.state;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** The effects of operations, which depend only on the registers, the operation and its entry's index. */
final class Changes {

    private Changes() {
    }

    static Result apply(Registers registers, long index, Operation operation) {
        if (operation instanceof Operation.Write write) {
            registers.put(write.key(), write.value());
            return Result.WRITTEN;
        }
        if (operation instanceof Operation.Cas cas) {
            return compareAndSet(registers, cas);
        }
        if (operation instanceof Operation.Add add) {
            registers.put(add.key(), number(registers, add.key()) + add.value());
            return Result.WRITTEN;
        }
        if (operation instanceof Operation.Transfer transfer) {
            return transfer(registers, transfer);
        }
        if (operation instanceof Operation.Acquire acquire) {
            return acquire(registers, index, acquire);
        }
        if (operation instanceof Operation.Release release) {
            return release(registers, release);
        }
        if (operation instanceof Operation.Append append) {
            // Each index gets its own register, so that replicas can be compared; applying it twice changes nothing.
            registers.put(append.key() + "/" + index, append.value());
            return Result.read(index);
        }
        throw new IllegalArgumentException("no change of the state: " + operation);
    }

    private static long number(Registers registers, String key) {
        Long value = registers.get(key);
        return value == null ? 0 : value;
    }

    private static Result compareAndSet(Registers registers, Operation.Cas cas) {
        Long seen = registers.get(cas.key());
        if (!Objects.equals(seen, cas.old())) {
            return Result.kept(seen);
        }
        registers.put(cas.key(), cas.next());
        return Result.SWAPPED;
    }

    private static Result transfer(Registers registers, Operation.Transfer transfer) {
        registers.put(transfer.key(), number(registers, transfer.key()) - transfer.amount());
        registers.put(transfer.to(), number(registers, transfer.to()) + transfer.amount());
        Map<String, Long> left = new TreeMap<>();
        left.put(transfer.key(), registers.get(transfer.key()));
        left.put(transfer.to(), registers.get(transfer.to()));
        return Result.all(left);
    }

    /** Returns the token of the lock's holder, null if it is free. */
    static Long holder(Long register) {
        return register == null || register <= 0 ? null : register;
    }

    private static Result acquire(Registers registers, long index, Operation.Acquire acquire) {
        Long holder = holder(registers.get(acquire.key()));
        if (holder != null) {
            return Result.kept(holder);
        }
        registers.put(acquire.key(), index + 1);
        return Result.acquired(index + 1);
    }

    private static Result release(Registers registers, Operation.Release release) {
        Long holder = holder(registers.get(release.key()));
        if (holder == null || holder != release.token()) {
            return Result.kept(holder);
        }
        registers.put(release.key(), -holder);
        return Result.SWAPPED;
    }
}
