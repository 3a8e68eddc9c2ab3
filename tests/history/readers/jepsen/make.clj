;; Writes test.jepsen by the public Fressian library, with the handlers and blocks that Jepsen 0.3 has:
;; java -cp clojure.jar:data.fressian.jar:fressian.jar:spec.alpha.jar clojure.main make.clj test.jepsen
(require '[clojure.data.fressian :as fress])
(import '(java.io ByteArrayOutputStream RandomAccessFile) '(java.nio ByteBuffer) '(java.util.zip CRC32)
        '(org.fressian.handlers WriteHandler))
(defrecord Op [index time type process f value])
(defrecord BlockRef [id])
(def handlers
  (-> fress/clojure-write-handlers
      (assoc user.Op {"jepsen.history.Op"
                      (reify WriteHandler
                        (write [_ w op]
                          (.writeTag w "jepsen.history.Op" 7)
                          (.writeInt w (:index op)) (.writeInt w (:time op))
                          (.writeObject w (:type op) true) (.writeObject w (:process op))
                          (.writeObject w (:f op) true) (.writeObject w (:value op))
                          (.writeObject w (not-empty (dissoc (into {} op) :index :time :type :process :f :value)))))}
             user.BlockRef {"block-ref" (reify WriteHandler
                                          (write [_ w r] (.writeTag w "block-ref" 1) (.writeObject w (:id r))))}
             clojure.lang.PersistentHashSet
             {"persistent-hash-set" (reify WriteHandler
                                      (write [_ w s] (.writeTag w "persistent-hash-set" 1) (.writeObject w (seq s))))})
      fress/associative-lookup fress/inheritance-lookup))
(defn fressian [& values]
  (let [out (ByteArrayOutputStream.) w (fress/create-writer out :handlers handlers)]
    (doseq [v values] (fress/write-object w v))
    (.toByteArray out)))
(defn block [type & parts]
  (let [data (byte-array (mapcat seq parts))
        head (fn [sum] (.array (doto (ByteBuffer/allocate 14)
                                 (.putLong (+ 14 (count data))) (.putInt (unchecked-int sum)) (.putShort type))))
        crc (doto (CRC32.) (.update data) (.update (head 0)))]
    (byte-array (concat (head (.getValue crc)) data))))
(defn ints [& pairs] (let [b (ByteBuffer/allocate 256)]
                       (doseq [[kind n] (partition 2 pairs)] (if (= kind :int) (.putInt b n) (.putLong b n)))
                       (java.util.Arrays/copyOf (.array b) (.position b))))
(def ops
  [(->Op 0 1000 :invoke 0 :write [1 7]) (->Op 1 2000000 :ok 0 :write [1 7])
   (->Op 2 3000000000 :info :nemesis :start-partition nil)
   (->Op 3 3500000000 :info :nemesis :start-partition [:isolated {"n1" #{"n2" "n3"}}])
   (->Op 4 4000000000000 :invoke 1 :read [1 nil]) (->Op 5 4000000000001 :ok 1 :read [1 7])
   (->Op 6 4000000000002 :invoke 2 :cas [1 [7 -9]])
   (assoc (->Op 7 4000000000003 :info 2 :cas [1 [7 -9]]) :error [:indeterminate "timed out after 3.5 s: \ud83d\ude00"])])
(def blocks
  [(block 4 (apply fressian (subvec ops 0 5))) (block 4 (apply fressian (subvec ops 5)))
   (block 5 (ints :long (count ops) :long 0 :int 1 :long 5 :int 2))
   (block 3 (ints :int 0) (fressian {:count 12345678901234567890N :ratio 1/3 :rate 2.5 :char \x :failures []}))
   (block 3 (ints :int 4) (fressian {:valid? true}))
   (block 3 (ints :int 0) (fressian {:name "test" :history (->BlockRef 3) :results (->BlockRef 5) :nodes ["n1" "n2"]}))])
(let [offsets (reductions + 18 (map count blocks))
      index (block 1 (apply ints :int 6 (mapcat (fn [id o] [:int id :long o]) (range 1 7) offsets)))]
  (with-open [f (java.io.FileOutputStream. (first *command-line-args*))]
    (.write f (.getBytes "JEPSEN"))
    (.write f (ints :int 1 :long (last offsets)))
    (doseq [b (concat blocks [index])] (.write f b))))
