import FCMSimulator
import FanfareJSON
import Testing

@Suite struct PlainTextTests {
    static let form = "application/x-www-form-urlencoded;charset=UTF-8"

    @Test(arguments: [form, "text/plain", nil])
    func `a body whose type is not JSON is read as a form`(type: String?) throws {
        var trial = Trial()
        let reply = trial.legacy(
            "registration_id=42&collapse_key=c&time_to_live=108&data.a+b=%C3%BC%26",
            contentType: type
        )
        #expect(reply.status == 200)
        #expect(reply.header("content-type")?.hasPrefix("text/plain") == true)
        #expect(reply.text.hasPrefix("id=0:"))
        #expect(try trial.deliveries("42").first?["payload"]?.object?["a b"] == "\u{FC}&")
    }

    @Test(arguments: [
        ("data.a=b", 200, "Error=MissingRegistration\n"), ("registration_id=", 200, "Error=MissingRegistration\n"),
        ("registration_id=a&registration_id=b", 200, "Error=InvalidParameters\n"),
        ("registration_id=sbx-invalid-1", 200, "Error=InvalidRegistration\n"),
        ("registration_id=/topics/a", 200, "Error=InvalidRegistration\n"),
        ("registration_id=sbx-unregistered-1", 200, "Error=NotRegistered\n"),
        ("registration_id=sbx-mismatch-1", 200, "Error=MismatchSenderId\n"),
        ("registration_id=sbx-auth-1", 200, "Error=InvalidApnsCredential\n"),
        ("registration_id=sbx-devicerate-1-x", 200, "Error=DeviceMessageRateExceeded\n"),
        ("registration_id=p&restricted_package_name=other", 200, "Error=InvalidPackageName\n"),
        ("registration_id=a&time_to_live=2419201", 200, "Error=InvalidTtl\n"),
        ("registration_id=a&data.from=x", 200, "Error=InvalidDataKey\n"),
        ("registration_id=a&priority=high", 200, "Error=InvalidParameters\n"),
        ("registration_id=a&dry_run=banana", 200, "Error=InvalidParameters\n"),
        ("registration_id=a&dry_run=", 200, "Error=InvalidParameters\n"),
        ("registration_id=a&data.k=%zz", 200, "Error=InvalidParameters\n"),
        ("registration_id=a&data.k=" + String(repeating: "x", count: 4_096), 200, "Error=MessageTooBig\n"),
        // Trouble of FCM's own has a status, and no word.
        ("registration_id=sbx-unavailable-1-x", 503, ""), ("registration_id=sbx-internal-1-x", 500, ""),
    ])
    func `every error is answered with its line`(body: String, status: Int, text: String) {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"p","package":"com.example.shop"}"#)
        let reply = trial.legacy(body, contentType: Self.form)
        #expect(reply.status == status)
        #expect(reply.text == text)
    }

    @Test(arguments: [("true", 0), ("1", 0), ("false", 1), ("0", 1)])
    func `a trial is not delivered`(value: String, deliveries: Int) throws {
        var trial = Trial()
        let reply = trial.legacy("registration_id=a&data.k=v&dry_run=" + value, contentType: Self.form)
        #expect(reply.text.hasPrefix("id="))
        #expect(try trial.deliveries("a").count == deliveries)
    }

    @Test func `plain text names the successor of a replaced token on its own line`() {
        var trial = Trial()
        let lines = trial.legacy("registration_id=sbx-canonical-7", contentType: Self.form).text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.last == "registration_id=canon-7")
    }
}
