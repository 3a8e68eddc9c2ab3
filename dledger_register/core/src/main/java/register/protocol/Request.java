package register.protocol;

import register.state.Operation;

/**
 * A parsed request.
 *
 * @param id        the client's id of the request, a Long or a String, returned unchanged
 * @param operation the operation on a register; null for a status request
 */
public record Request(Object id, Operation operation) {

    public boolean isStatus() {
        return operation == null;
    }
}
