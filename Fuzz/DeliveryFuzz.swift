import Storage

/// The changes of a push as the delivery log's file holds them: all of them or a refusal, however they are cut.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzDelivery(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let changes = DeliveryCode.changes(input) else { return 0 }
    precondition(changes.count * DeliveryCode.changeSize == count, "a change was lost or made up")

    var parts: [DeliveryChange] = []
    for start in stride(from: 0, to: count, by: DeliveryCode.changeSize) {
        parts += DeliveryCode.changes(Array(input[start..<start + DeliveryCode.changeSize])) ?? []
    }
    precondition(parts == changes, "the parts are not the whole")
    return 0
}
