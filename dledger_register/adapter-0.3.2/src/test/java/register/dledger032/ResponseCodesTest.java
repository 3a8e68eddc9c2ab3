package register.dledger032;

import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import register.testkit.ResponseCodesContract;

class ResponseCodesTest extends ResponseCodesContract {

    @Override
    protected Map<String, Integer> codes() {
        return Arrays.stream(DLedgerResponseCode.values())
                .collect(Collectors.toMap(Enum::name, DLedgerResponseCode::getCode));
    }
}
