package register.protocol;

import register.state.Operation;

/**
 * One line from a client, understood.
 *
 * @param id        the client's name for the request, a Long or a String, given back as it came
 * @param operation what is asked of a register; null for a status request
 */
public record Request(Object id, Operation operation) {

    public boolean isStatus() {
        return operation == null;
    }
}
